"""Edits of the plan in `conftest`, each with what the audit must say about it."""

from dataclasses import dataclass

from tests.auditing.forge import Edit, Forgery

Said = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """An edit, all that is to be said, and whether digests show it, too."""

    edit: Edit
    said: tuple[Said, ...]
    digested: bool = True


def move_a_pair(plan: Forgery) -> None:
    plan.row(0)["brokers"] = [1, 2]


def move_a_pair_and_cover_up(plan: Forgery) -> None:
    """Everything that can be made to fit is: only the capacity cannot."""
    move_a_pair(plan)
    plan.brokers[0] |= {"load": 30, "pairs": 2}
    plan.brokers[1] |= {"load": 55, "pairs": 5}
    plan.assignment[0]["pairs"], plan.assignment[1]["pairs"] = 2, 3


def duplicate_a_pair(plan: Forgery) -> None:
    plan.row(3).update(topics=[3, 3], brokers=[3, 3])


def drop_a_pair(plan: Forgery) -> None:
    plan.row(5).update(topics=[1], brokers=[2])


def claim_a_status(plan: Forgery) -> None:
    plan.header["status"] = "great"


def change_a_load(plan: Forgery) -> None:
    plan.brokers[3]["load"] = 8


def lower_a_capacity(plan: Forgery) -> None:
    plan.brokers[2]["capacity"] = 39


def raise_a_capacity(plan: Forgery) -> None:
    plan.brokers[2]["capacity"] = 46


def shrink_the_type(plan: Forgery) -> None:
    plan.header["fleet"]["broker_types"][0]["capacity"] = 42


def limit_the_fleet(plan: Forgery) -> None:
    plan.header["fleet"]["broker_types"][0]["count"] = 3


def use_an_unknown_type(plan: Forgery) -> None:
    plan.brokers[3]["type"] = "huge"


def serve_an_unwanted_pair(plan: Forgery) -> None:
    plan.row(3).update(topics=[2, 3], brokers=[1, 3])


def serve_an_unknown_topic(plan: Forgery) -> None:
    plan.row(6).update(topics=[77], brokers=[3])


def use_a_broker_that_is_not_there(plan: Forgery) -> None:
    plan.row(3)["brokers"] = [9]


def forget_a_broker(plan: Forgery) -> None:
    del plan.brokers[3]


def list_a_broker_twice(plan: Forgery) -> None:
    plan.brokers.append(dict(plan.brokers[3]))


def split_a_run(plan: Forgery) -> None:
    plan.assignment[0]["pairs"] = 2
    plan.assignment.insert(1, {"topic": 0, "broker": 0, "pairs": 1})


def raise_the_threshold(plan: Forgery) -> None:
    plan.header["threshold"] = 19


def lose_the_threshold(plan: Forgery) -> None:
    plan.header["threshold"] = None


def change_a_total(plan: Forgery) -> None:
    plan.header["figures"]["load"] = 133


def lose_a_total(plan: Forgery) -> None:
    del plan.header["figures"]["pairs"]


def beat_the_bound(plan: Forgery) -> None:
    plan.header |= {"objective": 1.5, "gap": 1 / 3}


def ask_for_more(plan: Forgery) -> None:
    plan.header |= {"objective": 5.0, "gap": 0.6}


def change_a_cost(plan: Forgery) -> None:
    plan.header["figures"]["cost_bandwidth"] = 0.5


def lose_a_cost(plan: Forgery) -> None:
    del plan.header["figures"]["cost"]


def raise_a_price(plan: Forgery) -> None:
    plan.header["fleet"]["broker_types"][0]["hour_usd"] = 2 / 240


def beat_the_load_bound(plan: Forgery) -> None:
    plan.header["figures"]["load_bound"] = 135


def beat_the_bound_of_the_paper(plan: Forgery) -> None:
    plan.header["figures"] |= {"bound_paper": 5.0, "gap_paper": 0.25}


def flatter_the_gap_to_the_paper(plan: Forgery) -> None:
    plan.header["figures"] |= {"bound_paper": 1.0, "gap_paper": 0.5}


def lose_the_bound(plan: Forgery) -> None:
    plan.header["bound"] = None


def flatter_the_gap(plan: Forgery) -> None:
    plan.header["gap"] = 0.01


def forget_a_subscriber(plan: Forgery) -> None:
    plan.rows.remove(plan.row(6))


def repeat_a_subscriber(plan: Forgery) -> None:
    plan.rows.insert(4, {"subscriber": 3, "topics": [], "brokers": []})


def invent_a_subscriber(plan: Forgery) -> None:
    plan.rows.append({"subscriber": 8, "topics": [], "brokers": []})


def swap_subscribers(plan: Forgery) -> None:
    first, last = plan.row(0), plan.row(7)
    first["subscriber"], last["subscriber"] = 7, 0


def leave_a_topic_without_broker(plan: Forgery) -> None:
    plan.row(3).update(topics=[3, 3], brokers=[3])


CASES = {
    "pair moved": Case(
        move_a_pair,
        (
            ("capacity", "broker 1 carries 55, its capacity is 45"),
            ("load", "broker 0: load stated 40, found 30; pairs stated 3, found 2"),
            ("load", "broker 1: load stated 45, found 55; pairs stated 4, found 5"),
            ("assignment", 'topic "world" on broker 0: 3 pairs stated, 2 found'),
            ("assignment", 'topic "world" on broker 1: 2 pairs stated, 3 found'),
        ),
    ),
    "pair moved and covered up": Case(
        move_a_pair_and_cover_up,
        (("capacity", "broker 1 carries 55, its capacity is 45"),),
    ),
    "status invented": Case(
        claim_a_status,
        (
            (
                "bound",
                "status is 'great', expected optimal, feasible, infeasible, unknown",
            ),
        ),
        digested=False,
    ),
    "pair duplicated": Case(
        duplicate_a_pair,
        (
            ("totals", "load: stated 134, found 137"),
            ("totals", "pairs: stated 13, found 14"),
            ("totals", "outgoing: stated 98, found 101"),
            ("load", "broker 3: load stated 9, found 12; pairs stated 2, found 3"),
            ("assignment", 'topic "chess" on broker 3: 2 pairs stated, 3 found'),
            ("repeated", 'subscriber "u3" is served topic "chess" 2 times'),
        ),
    ),
    "pair dropped": Case(
        drop_a_pair,
        (
            ("totals", "load: stated 134, found 129"),
            ("totals", "pairs: stated 13, found 12"),
            ("totals", "outgoing: stated 98, found 93"),
            ("load", "broker 1: load stated 45, found 40; pairs stated 4, found 3"),
            ("assignment", 'topic "local" on broker 1: 2 pairs stated, 1 found'),
            ("threshold", 'subscriber "u5" receives 8, its threshold is 12'),
        ),
    ),
    "load changed": Case(
        change_a_load, (("load", "broker 3: load stated 8, found 9"),)
    ),
    "capacity lowered": Case(
        lower_a_capacity,
        (
            ("capacity", 'broker 2 has capacity 39, its type "plain" has 45'),
            ("capacity", "broker 2 carries 40, its capacity is 39"),
        ),
    ),
    "capacity raised": Case(
        raise_a_capacity,
        (("capacity", 'broker 2 has capacity 46, its type "plain" has 45'),),
    ),
    "type shrunk": Case(
        shrink_the_type,
        (
            ("capacity", 'broker 0 has capacity 45, its type "plain" has 42'),
            ("capacity", 'broker 1 has capacity 45, its type "plain" has 42'),
            ("capacity", "broker 1 carries 45, its capacity is 42"),
            ("capacity", 'broker 2 has capacity 45, its type "plain" has 42'),
            ("capacity", 'broker 3 has capacity 45, its type "plain" has 42'),
        ),
        digested=False,
    ),
    "fleet limited": Case(
        limit_the_fleet,
        (("fleet", '4 brokers of type "plain", the fleet has 3'),),
        digested=False,
    ),
    "type unknown": Case(
        use_an_unknown_type,
        (
            ("cost", "cost: stated $4, found $3"),
            ("cost", "cost_brokers: stated $4, found $3"),
            ("cost", "the objective is $4, the cost is $3"),
            ("fleet", 'the fleet has no broker type "huge", 1 used'),
        ),
    ),
    "pair unwanted": Case(
        serve_an_unwanted_pair,
        (
            ("totals", "load: stated 134, found 139"),
            ("totals", "pairs: stated 13, found 14"),
            ("totals", "outgoing: stated 98, found 103"),
            ("capacity", "broker 1 carries 50, its capacity is 45"),
            ("load", "broker 1: load stated 45, found 50; pairs stated 4, found 5"),
            ("assignment", 'topic "local" on broker 1: 2 pairs stated, 3 found'),
            (
                "unwanted",
                'subscriber "u3" is served topic "local", which it does not want',
            ),
        ),
    ),
    "topic unknown": Case(
        serve_an_unknown_topic,
        (
            ("totals", "pairs: stated 13, found 14"),
            ("load", "broker 3: topics stated 1, found 2; pairs stated 2, found 3"),
            ("assignment", "topic number 77 on broker 3: 0 pairs stated, 1 found"),
            (
                "unwanted",
                'subscriber "u6" is served topic number 77, which it does not want',
            ),
        ),
    ),
    "broker unknown": Case(
        use_a_broker_that_is_not_there,
        (
            ("totals", "load: stated 134, found 131"),
            ("totals", "pairs: stated 13, found 12"),
            ("totals", "outgoing: stated 98, found 95"),
            ("load", "broker 3: load stated 9, found 6; pairs stated 2, found 1"),
            ("assignment", 'topic "chess" on broker 3: 2 pairs stated, 1 found'),
            ("assignment", 'topic "chess" on broker 9: 0 pairs stated, 1 found'),
            ("broker", 'topic "chess" has 1 pair on broker 9, which does not exist'),
        ),
    ),
    "broker forgotten": Case(
        forget_a_broker,
        (
            ("totals", "brokers: stated 4, found 3"),
            ("totals", "load: stated 134, found 125"),
            ("totals", "pairs: stated 13, found 11"),
            ("totals", "incoming: stated 36, found 33"),
            ("totals", "outgoing: stated 98, found 92"),
            ("cost", "cost: stated $4, found $3"),
            ("cost", "cost_brokers: stated $4, found $3"),
            ("cost", "the objective is $4, the cost is $3"),
            ("broker", 'topic "chess" has 2 pairs on broker 3, which does not exist'),
        ),
    ),
    "broker listed twice": Case(
        list_a_broker_twice,
        (
            ("totals", "brokers: stated 4, found 5"),
            ("cost", "cost: stated $4, found $5"),
            ("cost", "cost_brokers: stated $4, found $5"),
            ("cost", "the objective is $4, the cost is $5"),
            ("fleet", "broker 3 is listed 2 times"),
        ),
    ),
    "run split": Case(
        split_a_run, (("assignment", 'topic "world" on broker 0 is listed 2 times'),)
    ),
    "threshold missed": Case(
        raise_the_threshold,
        (("threshold", 'subscriber "u2" receives 18, its threshold is 19'),),
    ),
    "threshold lost": Case(
        lose_the_threshold,
        (("threshold", "neither the plan nor a subscriber has a threshold"),),
    ),
    "total changed": Case(
        change_a_total, (("totals", "load: stated 133, found 134"),), digested=False
    ),
    "total lost": Case(
        lose_a_total, (("totals", "plan.json has no figure 'pairs'"),), digested=False
    ),
    "bound beaten": Case(
        beat_the_bound,
        (
            ("cost", "the objective is $1.5, the cost is $4"),
            ("bound", "the objective 1.5 is below its bound 2"),
        ),
        digested=False,
    ),
    "objective raised": Case(
        ask_for_more,
        (("cost", "the objective is $5, the cost is $4"),),
        digested=False,
    ),
    "cost changed": Case(
        change_a_cost,
        (("cost", "cost_bandwidth: stated $0.5, found $0"),),
        digested=False,
    ),
    "cost lost": Case(
        lose_a_cost, (("totals", "plan.json has no figure 'cost'"),), digested=False
    ),
    "price raised": Case(
        raise_a_price,
        (
            ("cost", "cost: stated $4, found $8"),
            ("cost", "cost_brokers: stated $4, found $8"),
            ("cost", "the objective is $4, the cost is $8"),
        ),
        digested=False,
    ),
    "load bound beaten": Case(
        beat_the_load_bound,
        (("bound", "the load 134 is below its load_bound 135"),),
        digested=False,
    ),
    "paper's bound beaten": Case(
        beat_the_bound_of_the_paper,
        (("bound", "the objective 4 is below its bound_paper 5"),),
        digested=False,
    ),
    "paper's gap flattered": Case(
        flatter_the_gap_to_the_paper,
        (("bound", "gap_paper is 0.5; objective 4 and bound_paper 1 make 0.75"),),
        digested=False,
    ),
    "bound lost": Case(
        lose_the_bound,
        (("bound", "objective 4.0 and bound None in a plan that is feasible"),),
        digested=False,
    ),
    "gap flattered": Case(
        flatter_the_gap,
        (("bound", "gap is 0.01; objective 4 and bound 2 make 0.5"),),
        digested=False,
    ),
    "subscriber forgotten": Case(
        forget_a_subscriber,
        (("subscribers", 'subscriber "u6" has no row in the placement'),),
    ),
    "subscriber repeated": Case(
        repeat_a_subscriber,
        (
            (
                "subscribers",
                'subscriber "u3" has 2 rows in the placement, expected one',
            ),
            (
                "subscribers",
                'subscriber "u3" comes after subscriber "u3", out of order',
            ),
        ),
    ),
    "subscriber invented": Case(
        invent_a_subscriber,
        (("subscribers", "subscriber number 8 is not in the workload"),),
    ),
    "subscribers swapped": Case(
        swap_subscribers,
        (
            (
                "subscribers",
                'subscriber "u1" comes after subscriber "u7", out of order',
            ),
            (
                "subscribers",
                'subscriber "u0" comes after subscriber "u6", out of order',
            ),
        ),
        digested=False,
    ),
    "topic without broker": Case(
        leave_a_topic_without_broker,
        (("lists", 'subscriber "u3" has 2 topics but 1 broker in its lists'),),
    ),
}
