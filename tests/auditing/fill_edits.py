"""Edits of plans to fill, each with what the audit must say about it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.auditing.conftest import RATES, WANTED
from tests.auditing.forge import Edit, Forgery
from tests.auditing.naive import filled, saved

from brokerwise.model.fleet import Bandwidth
from brokerwise.model.plan import Plan
from brokerwise.model.workload import PLAIN, Weights, Workload

Said = tuple[str, str]
WHOLE = "a whole number from 1 to 9,223,372,036,854,775,807"


def opera_house() -> Workload:
    """The newsroom, and an opera (rate 30) that u7 wants and no broker can carry.

    By id: opera 30, world 10, sport 8, local 5, chess 3, silent 0; 136 are wanted.
    """
    pairs = [(topic, u) for u, topics in WANTED.items() for topic in topics.split()]
    topics, subscribers = zip(*pairs, ("opera", "u7"), strict=True)
    return Workload.from_pairs(
        topics=topics, subscribers=subscribers, rates={**RATES, "opera": 30}
    )


def weighted(workload: Workload) -> Plan:
    """Chess counts four times, local not at all, and u2 ten times.

    Broker 0 (capacity 45, load 40) has world for u0, u1, u2 and silent for u4, u6;
    broker 1 (26 of 26) world for u4 and chess for u2; broker 2 (26 of 26) world for
    u7 and chess for u3. World is worth 140, chess 132; all that is wanted, 418.
    """
    topics = np.array([1, 1, 1, 0, 4, 1], np.int64)
    subscribers = np.array([1, 1, 10, 1, 1, 1, 1, 1], np.int64)
    return _filled(workload, weights=Weights(topics, subscribers))


def plain(workload: Workload) -> Plan:
    """The same without weights: 56 of 136 delivered, 97 is all the bandwidth."""
    return _filled(workload)


def split(workload: Workload) -> Plan:
    """The same, the brokers chosen by the plan from a bandwidth of 100, 45 at most."""
    return _filled(workload, bandwidth=Bandwidth(100, 45))


def _filled(
    workload: Workload, weights: Weights = PLAIN, bandwidth: Bandwidth | None = None
) -> Plan:
    return filled(
        workload,
        brokers=1,
        capacity=45,
        smaller=(2, 26),
        weights=weights,
        bandwidth=bandwidth,
    )


@dataclass(frozen=True)
class FillCase:
    """An edit of a plan, all that is to be said, and whether digests show it, too."""

    made: Callable[[Workload], Plan]
    edit: Edit
    said: tuple[Said, ...]
    digested: bool = False

    def folder(self, folder: Path) -> Path:
        workload = opera_house()
        return saved(self.made(workload), workload, folder)


def figure(name: str, value: float) -> Edit:
    def edit(plan: Forgery) -> None:
        plan.header["figures"][name] = value

    return edit


def lose_figure(name: str) -> Edit:
    def edit(plan: Forgery) -> None:
        del plan.header["figures"][name]

    return edit


def stated(**fields: object) -> Edit:
    def edit(plan: Forgery) -> None:
        plan.header |= fields

    return edit


def option(name: str, value: object) -> Edit:
    def edit(plan: Forgery) -> None:
        plan.header["options"][name] = value

    return edit


def count_rates_only(plan: Forgery) -> None:
    """What the plan delivers, weights aside, and a gap to match."""
    plan.header |= {"objective": 56.0, "gap": 362 / 56}
    plan.header["figures"]["gap_paper"] = 362 / 56


def drop_a_pair(plan: Forgery) -> None:
    """World is no longer served to u2, whom it counts for ten."""
    plan.row(2).update(topics=[4], brokers=[1])


def swap_who_is_served(plan: Forgery) -> None:
    """Chess goes to u4 and not to u2: every count stays, but u2 counts for ten."""
    plan.row(2).update(topics=[1], brokers=[0])
    plan.row(4).update(topics=[1, 4, 5], brokers=[1, 1, 0])


def serve_a_stranger(plan: Forgery) -> None:
    plan.rows.append({"subscriber": 8, "topics": [1], "brokers": [0]})


def serve_nowhere(plan: Forgery) -> None:
    plan.row(3)["brokers"] = [9]


def raise_a_topic(plan: Forgery) -> None:
    plan.weights["topic_weights"][1]["weight"] = 5


def raise_a_subscriber(plan: Forgery) -> None:
    plan.weights["subscriber_weights"][0]["weight"] = 11


def weigh_another(plan: Forgery) -> None:
    """u3, who is served chess only, is said to count for ten as u2 does."""
    plan.weights["subscriber_weights"].append({"subscriber": 3, "weight": 10})


def lose_the_topics(plan: Forgery) -> None:
    plan.lose_weights("topic_weights")


def lose_the_subscribers(plan: Forgery) -> None:
    plan.lose_weights("subscriber_weights")


def limit_the_small(plan: Forgery) -> None:
    plan.header["fleet"]["broker_types"][1]["count"] = 1
    plan.header["figures"] |= {"bound_paper": 71, "gap_paper": 15 / 56}


def grow_the_fleet(plan: Forgery) -> None:
    """Brokers that were not used and not booked."""
    plan.header["fleet"]["broker_types"][1]["count"] = 3


def unlimit_the_fleet(plan: Forgery) -> None:
    plan.header["fleet"]["broker_types"][1]["count"] = None


def lose_an_option(plan: Forgery) -> None:
    del plan.header["options"]["max_broker"]


CASES = {
    "objective raised": FillCase(
        weighted,
        stated(objective=273.0, gap=145 / 273),
        (
            ("objective", "the objective is 273, the pairs served are worth 272"),
            (
                "bound",
                "gap_paper is 0.5367647058823529; objective 273 and bound_paper 418 "
                "make 0.5311355311",
            ),
        ),
    ),
    "objective a fraction": FillCase(
        weighted,
        stated(objective=272.0000001),
        (
            (
                "objective",
                "the objective is 272.0000001, the pairs served are worth 272",
            ),
        ),
    ),
    "objective without weights": FillCase(
        weighted,
        count_rates_only,
        (("objective", "the objective is 56, the pairs served are worth 272"),),
    ),
    "pair dropped": FillCase(
        weighted,
        drop_a_pair,
        (
            ("totals", "load: stated 92, found 82"),
            ("totals", "pairs: stated 9, found 8"),
            ("totals", "outgoing: stated 56, found 46"),
            ("totals", "delivered: stated 56, found 46"),
            ("totals", "delivered_percent: stated 41.17647059, found 33.82352941"),
            ("objective", "the objective is 272, the pairs served are worth 172"),
            ("load", "broker 0: load stated 40, found 30; pairs stated 5, found 4"),
            ("assignment", 'topic "world" on broker 0: 3 pairs stated, 2 found'),
        ),
        digested=True,
    ),
    "others served": FillCase(
        weighted,
        swap_who_is_served,
        (("objective", "the objective is 272, the pairs served are worth 164"),),
        digested=True,
    ),
    "stranger served": FillCase(
        weighted,
        serve_a_stranger,
        (
            ("totals", "load: stated 92, found 102"),
            ("totals", "pairs: stated 9, found 10"),
            ("totals", "outgoing: stated 56, found 66"),
            ("totals", "delivered: stated 56, found 66"),
            ("totals", "delivered_percent: stated 41.17647059, found 48.52941176"),
            ("objective", "the objective is 272, the pairs served are worth 282"),
            ("capacity", "broker 0 carries 50, its capacity is 45"),
            ("load", "broker 0: load stated 40, found 50; pairs stated 5, found 6"),
            ("assignment", 'topic "world" on broker 0: 3 pairs stated, 4 found'),
            ("subscribers", "subscriber number 8 is not in the workload"),
            (
                "unwanted",
                'subscriber number 8 is served topic "world", which it does not want',
            ),
        ),
        digested=True,
    ),
    "pair nowhere": FillCase(
        weighted,
        serve_nowhere,
        (
            ("totals", "load: stated 92, found 86"),
            ("totals", "pairs: stated 9, found 8"),
            ("totals", "incoming: stated 36, found 33"),
            ("totals", "outgoing: stated 56, found 53"),
            ("totals", "delivered: stated 56, found 53"),
            ("objective", "the objective is 272, the pairs served are worth 260"),
            (
                "load",
                "broker 2: load stated 26, found 20; topics stated 2, found 1; "
                "pairs stated 2, found 1",
            ),
            ("assignment", 'topic "chess" on broker 2: 1 pair stated, 0 found'),
            ("assignment", 'topic "chess" on broker 9: 0 pairs stated, 1 found'),
            ("broker", 'topic "chess" has 1 pair on broker 9, which does not exist'),
        ),
        digested=True,
    ),
    "weight of a topic": FillCase(
        weighted,
        raise_a_topic,
        (
            ("totals", "weighted_wanted: stated 418, found 454"),
            ("objective", "the objective is 272, the pairs served are worth 305"),
        ),
        digested=True,
    ),
    "weight of a subscriber": FillCase(
        weighted,
        raise_a_subscriber,
        (
            ("totals", "weighted_wanted: stated 418, found 448"),
            ("objective", "the objective is 272, the pairs served are worth 294"),
        ),
        digested=True,
    ),
    "weight invented": FillCase(
        weighted,
        weigh_another,
        (
            ("totals", "weighted_wanted: stated 418, found 526"),
            ("objective", "the objective is 272, the pairs served are worth 380"),
        ),
        digested=True,
    ),
    "weights of topics lost": FillCase(
        weighted,
        lose_the_topics,
        (
            ("totals", "weighted_wanted: stated 418, found 370"),
            ("objective", "the objective is 272, the pairs served are worth 173"),
            ("bound", "the bound is 418, all that is wanted is worth 370"),
        ),
        digested=True,
    ),
    "weights of subscribers lost": FillCase(
        weighted,
        lose_the_subscribers,
        (
            ("totals", "weighted_wanted: stated 418, found 148"),
            ("objective", "the objective is 272, the pairs served are worth 74"),
            ("bound", "the bound is 418, all that is wanted is worth 148"),
        ),
        digested=True,
    ),
    "bound beaten": FillCase(
        weighted,
        stated(bound=271.0, gap=1 / 272),
        (("bound", "the objective 272 is above its bound 271"),),
    ),
    "bound beyond everything": FillCase(
        weighted,
        stated(bound=419.0, gap=147 / 272),
        (("bound", "the bound is 419, all that is wanted is worth 418"),),
    ),
    "gap flattered": FillCase(
        weighted,
        stated(gap=0.001),
        (("bound", "gap is 0.001; objective 272 and bound 418 make 0.5367647059"),),
    ),
    "optimal with a gap": FillCase(
        weighted,
        stated(status="optimal", bound=272.0000001, gap=0.0),
        (("bound", "the plan is said to be optimal with a gap of 0.0"),),
    ),
    "infeasible": FillCase(
        plain,
        stated(status="infeasible", objective=None, bound=None, gap=None),
        (
            (
                "bound",
                "a plan to fill is said to be infeasible: to deliver nothing is a plan",
            ),
        ),
    ),
    "paper's bound raised": FillCase(
        plain,
        lambda plan: plan.header["figures"].update(
            bound_paper=98, gap_paper=(98 - 56) / 56
        ),
        (("bound", "bound_paper: stated 98, found 97"),),
    ),
    "paper's gap flattered": FillCase(
        plain,
        figure("gap_paper", 0.1),
        (
            (
                "bound",
                "gap_paper is 0.1; objective 56 and bound_paper 97 make 0.7321428571",
            ),
        ),
    ),
    "paper's bound beaten": FillCase(
        weighted,
        lambda plan: plan.header["figures"].update(bound_paper=271, gap_paper=1 / 272),
        (("bound", "the objective 272 is above its bound_paper 271"),),
    ),
    "delivered changed": FillCase(
        plain,
        figure("delivered", 57),
        (("totals", "delivered: stated 57, found 56"),),
    ),
    "percentage changed": FillCase(
        plain,
        figure("delivered_percent", 41.2),
        (("totals", "delivered_percent: stated 41.2, found 41.17647059"),),
    ),
    "wanted changed": FillCase(
        plain, figure("wanted", 106), (("totals", "wanted: stated 106, found 136"),)
    ),
    "weighted wanted changed": FillCase(
        weighted,
        figure("weighted_wanted", 136),
        (("totals", "weighted_wanted: stated 136, found 418"),),
    ),
    "left out hidden": FillCase(
        plain, figure("left_out", 0), (("totals", "left_out: stated 0, found 1"),)
    ),
    "incoming changed": FillCase(
        plain, figure("incoming", 35), (("totals", "incoming: stated 35, found 36"),)
    ),
    **{
        f"{name} lost": FillCase(
            weighted,
            lose_figure(name),
            (("totals", f"plan.json has no figure {name!r}"),),
        )
        for name in (
            *("delivered", "delivered_percent", "wanted", "weighted_wanted"),
            *("incoming", "outgoing", "pairs"),
        )
    },
    "fleet limited": FillCase(
        plain,
        limit_the_small,
        (("fleet", '2 brokers of type "small", the fleet has 1'),),
    ),
    "bandwidth exceeded": FillCase(
        split,
        grow_the_fleet,
        (("fleet", "the fleet has 123 in all, total_bandwidth is 100"),),
    ),
    "bandwidth without limit": FillCase(
        split,
        unlimit_the_fleet,
        (("fleet", "the fleet has no limit in all, total_bandwidth is 100"),),
    ),
    "broker too large": FillCase(
        split,
        option("max_broker", 44),
        (("fleet", 'broker type "plain" has capacity 45, max_broker is 44'),),
    ),
    "larger brokers allowed": FillCase(
        split,
        option("max_broker", 60),
        (("totals", "left_out: stated 1, found 0"),),
    ),
    "bandwidth lowered": FillCase(
        split,
        option("total_bandwidth", 96),
        (
            ("bound", "bound_paper: stated 100, found 96"),
            ("fleet", "the fleet has 97 in all, total_bandwidth is 96"),
        ),
    ),
    "bandwidth in words": FillCase(
        split,
        option("total_bandwidth", "plenty"),
        (
            ("bound", "bound_paper: stated 100, found 97"),
            ("fleet", f"total of bandwidth: found 'plenty', expected {WHOLE}"),
        ),
    ),
    "largest broker lost": FillCase(
        split,
        lose_an_option,
        (
            ("bound", "bound_paper: stated 100, found 97"),
            ("fleet", f"max_broker of bandwidth: found None, expected {WHOLE}"),
        ),
    ),
}
