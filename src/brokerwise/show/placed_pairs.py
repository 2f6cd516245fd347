"""Plans of kind provision and fill, opened: their brokers, where each topic and
subscriber is, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, Fleet
from brokerwise.model.load import run_load, run_loads
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.model.workload import NO_THRESHOLD
from brokerwise.pipeline.fill import Filled
from brokerwise.runtime.fleet.seeds import broker_name
from brokerwise.show.fill import fill_details, fill_result
from brokerwise.show.numbers import counted, dollars, percent
from brokerwise.show.page import Page
from brokerwise.show.plots import Plot, Series
from brokerwise.show.provision import plan_result, provision_details
from brokerwise.show.spending import cost_against_threshold, title
from brokerwise.show.tables import Table
from brokerwise.show.view import (
    LISTED,
    Json,
    Rows,
    Search,
    View,
    count_followers,
    found,
    has_column,
    kept_of,
    listed,
    page_of_plan,
    quoted,
    read_names,
    tables_json,
    unsaid,
    view_of,
)
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    HEADER,
    PlanHeader,
    read_fleet,
    read_plan,
    read_plan_header,
    read_plan_runs,
)
from brokerwise.storage.workload import (
    WorkloadHeader,
    read_header,
    read_topics,
    read_workload,
)

PROVISION = "provision"


@dataclass(frozen=True)
class TopicPlaced:
    """A topic, its `pairs` on each of its `brokers`, and how many want it at all."""

    name: str
    rate: int
    wanted: int
    brokers: Sequence[str]
    pairs: Sequence[int]

    @property
    def served(self) -> int:
        return sum(self.pairs)


@dataclass(frozen=True)
class SubscriberPlaced:
    """What a subscriber wants and gets, as numbers of topics and as sums of rates."""

    name: str
    topics_wanted: int
    wanted: int
    topics: int
    gets: int
    brokers: Sequence[str]
    threshold: int | None


def topic_why(topic: TopicPlaced, kind: str, largest: int) -> str:
    """Why a topic is on its brokers, or on none; `largest` is the capacity of the
    largest broker that there may be."""
    who = f"{quoted(topic.name)} (rate {topic.rate:,}) is"
    if not topic.wanted:
        return f"{who} on no broker: nobody wants it."
    if not topic.brokers and not topic.rate:
        return f"{who} on no broker: it has no messages."
    if not topic.brokers:
        return f"{who} on no broker: {_left_out(topic, kind, largest)}."
    return f"{who} {_where(topic, largest)}. {_served(topic, kind)}"


def subscriber_why(who: SubscriberPlaced, kind: str) -> str:
    """What a subscriber gets, from where, and why not more."""
    name = quoted(who.name)
    if not who.topics_wanted:
        return f"{name} wants nothing."
    if not who.wanted:
        return f"{name} wants nothing that has messages."
    from_ = f", from {listed(who.brokers)}" if who.brokers else ""
    if who.topics == who.topics_wanted:
        every = {1: "the topic", 2: "both topics"}.get(
            who.topics, f"all {who.topics:,} topics"
        )
        said = f"{name} gets {every} that it wants, {who.gets:,} a period{from_}"
        return f"{said}{_less_than_threshold(who)}."
    if kind == PROVISION:
        return (
            f"{name} gets {who.gets:,} a period, its threshold is {who.threshold:,}: "
            f"{_share(who)} ({who.wanted:,} a period){from_}."
        )
    because = ": the fleet cannot carry everything" if not who.topics else from_
    return (
        f"{name} gets {_share(who)}, {who.gets:,} of {who.wanted:,} a period{because}."
    )


def _where(topic: TopicPlaced, largest: int) -> str:
    pairs = counted(topic.served, "pair")
    need = run_load(topic.rate, topic.served)
    if len(topic.brokers) == 1:
        verb = "needs" if topic.served == 1 else "need"
        return f"whole on {topic.brokers[0]}, where its {pairs} {verb} {need:,}"
    split = f"split over {listed(topic.brokers)}: its {pairs}"
    if need > largest:
        return f"{split} need {need:,} on one broker, the largest carries {largest:,}"
    return (
        f"{split} would need {need:,} on one broker; in parts they take the room that "
        "other topics leave"
    )


def _left_out(topic: TopicPlaced, kind: str, largest: int) -> str:
    need = run_load(topic.rate, 1)
    if need > largest:
        return f"one pair needs {need:,}, the largest broker carries {largest:,}"
    if kind == PROVISION:
        return f"{_reach(topic.wanted)} without it"
    return "the fleet cannot carry everything, and other topics are served instead"


def _served(topic: TopicPlaced, kind: str) -> str:
    wanted, served = topic.wanted, topic.served
    if served == wanted:
        everybody = (
            "The one subscriber" if wanted == 1 else f"All {wanted:,} subscribers"
        )
        verb = "wants it gets it" if wanted == 1 else "want it get it"
        return f"{everybody} who {verb}."
    verb = "gets it" if served == 1 else "get it"
    said = f"{served:,} of {wanted:,} subscribers who want it {verb}"
    if kind == PROVISION:
        rest = (
            "the other reaches its threshold"
            if wanted - served == 1
            else ("the others reach their thresholds")
        )
        return f"{said}; {rest} without it."
    return f"{said}; the fleet cannot carry everything."


def _reach(wanted: int) -> str:
    if wanted == 1:
        return "the one subscriber who wants it reaches its threshold"
    every = "both" if wanted == 2 else f"all {wanted:,}"
    return f"{every} subscribers who want it reach their thresholds"


def _share(who: SubscriberPlaced) -> str:
    some = f"{who.topics:,}" if who.topics else "none"
    return f"{some} of the {who.topics_wanted:,} topics that it wants"


def _less_than_threshold(who: SubscriberPlaced) -> str:
    if who.threshold is None or who.gets >= who.threshold:
        return ""
    return f"; its threshold of {who.threshold:,} is more than that"


_TOPICS = 100  # of a subscriber that are named
UNIT = "messages a period"


@dataclass(frozen=True, eq=False)
class Placed:
    """A plan, and its workload as far as it is needed to say where things are.

    The runs of the plan say where topics are; what one subscriber wants and gets is
    read when somebody asks.

    Attributes
    ----------
    followers
        How many subscribers want each topic.
    people
        The table of subscribers if they have thresholds of their own, else None.
    """

    plan: Plan
    rates: Int64s
    followers: Int64s
    topics: Search
    subscribers: Search
    interests: Rows
    placement: Rows
    people: Rows | None = None

    def find(self, text: str) -> Json:
        topics, people = self.topics.hits(text), self.subscribers.hits(text)
        return {
            "topics": [self._topic(number) for number in topics.numbers],
            "subscribers": [self._subscriber(number) for number in people.numbers],
            "more": topics.more or people.more,
        }

    def brokers(self) -> list[Json]:
        """The brokers in order; of very many the fullest."""
        brokers, runs = self.plan.brokers, self.plan.placement
        count = len(brokers)
        topics = np.bincount(runs.broker, minlength=count)
        pairs = np.bincount(runs.broker, runs.pairs, count).astype(np.int64)
        share = brokers.load / brokers.capacity
        shown = np.sort(np.argsort(-share, kind="stable")[:LISTED])
        types = self.plan.fleet.broker_types
        return [
            {
                "number": number,
                "name": broker_name(number),
                "load": int(brokers.load[number]),
                "capacity": int(brokers.capacity[number]),
                "used": float(share[number]),
                "topics": int(topics[number]),
                "pairs": int(pairs[number]),
                "note": types[brokers.type[number]].name,
            }
            for number in shown.tolist()
        ]

    def broker(self, number: int) -> Json | None:
        brokers = self.plan.brokers
        if not 0 <= number < len(brokers):
            return None
        runs = self._runs_on(number)
        load, capacity = int(brokers.load[number]), int(brokers.capacity[number])
        kind = self.plan.fleet.broker_types[brokers.type[number]]
        pairs = int(self.plan.placement.pairs[runs].sum())
        return {
            "number": number,
            "name": broker_name(number),
            "facts": [
                ["Type", kind.name],
                ["Load", f"{load:,} of {capacity:,} ({percent(load / capacity)})"],
                ["Topics", f"{len(runs):,}"],
                ["Pairs", f"{pairs:,}"],
            ],
            "tables": tables_json([self._topics_on(number, runs[:LISTED], len(runs))]),
        }

    def _runs_on(self, number: int) -> Int64s:
        """The runs on a broker, the heaviest first."""
        runs = self.plan.placement
        here = np.flatnonzero(runs.broker == number)
        load = run_loads(self.rates[runs.topic[here]], runs.pairs[here])
        return here[np.argsort(-load, kind="stable")]

    def _topics_on(self, number: int, runs: Int64s, total: int) -> Table:
        placement = self.plan.placement
        rows = []
        for run in runs.tolist():
            topic, pairs = int(placement.topic[run]), int(placement.pairs[run])
            rate = int(self.rates[topic])
            others = self._places(topic).size - 1
            rows.append(
                (
                    self.topics.names[topic],
                    f"{rate:,}",
                    f"{pairs:,}",
                    f"{rate * (1 + pairs):,}",
                    counted(others, "other") if others else "",
                )
            )
        of = "" if total == len(rows) else f", {len(rows):,} of {total:,}"
        return Table(
            f"Topics on {broker_name(number)}, the heaviest first{of}",
            ("topic", "rate", "pairs", "load", "also on"),
            rows,
        )

    def _places(self, topic: int) -> Int64s:
        """The runs of a topic: they go by topic."""
        ends = np.searchsorted(self.plan.placement.topic, [topic, topic + 1])
        return np.arange(ends[0], ends[1])

    def _topic(self, number: int) -> Json:
        runs = self._places(number)
        brokers = self.plan.placement.broker[runs].tolist()
        pairs = self.plan.placement.pairs[runs].tolist()
        topic = TopicPlaced(
            self.topics.names[number],
            int(self.rates[number]),
            int(self.followers[number]),
            [broker_name(broker) for broker in brokers],
            pairs,
        )
        where = [
            _place(broker, counted(some, "pair"), pairs=some)
            for broker, some in zip(brokers, pairs, strict=True)
        ]
        why = topic_why(topic, self.plan.kind, self.plan.fleet.largest_capacity)
        return found(topic.name, why, where)

    def _subscriber(self, number: int) -> Json:
        wanted = self.interests.row(number, "topics")["topics"]
        given = self.placement.row(number, "topics", "brokers")
        by_broker: dict[int, list[int]] = {}
        for topic, broker in zip(given["topics"], given["brokers"], strict=True):
            by_broker.setdefault(broker, []).append(topic)
        served = dict(sorted(by_broker.items()))
        who = SubscriberPlaced(
            self.subscribers.names[number],
            len(wanted),
            int(self.rates[wanted].sum()),
            len(given["topics"]),
            int(self.rates[given["topics"]].sum()),
            [broker_name(broker) for broker in served],
            self._threshold(number),
        )
        where = [self._served(broker, of) for broker, of in served.items()]
        return found(who.name, subscriber_why(who, self.plan.kind), where)

    def _served(self, broker: int, topics: list[int]) -> Json:
        names = [self.topics.names[topic] for topic in topics[:_TOPICS]]
        more = len(topics) - len(names)
        text = listed([*names, *([f"{more:,} more"] if more else [])], _TOPICS)
        rate = int(self.rates[topics].sum())
        return _place(broker, f"{text}: {rate:,} a period", pairs=len(topics))

    def _threshold(self, number: int) -> int | None:
        if self.people is not None and self.plan.threshold is not None:
            own = self.people.row(number, "threshold")["threshold"]
            if own is not None and own != NO_THRESHOLD:
                return int(own)
        return self.plan.threshold


def _place(broker: int, text: str, **numbers: Any) -> Json:
    return {"number": broker, "broker": broker_name(broker), "text": text, **numbers}


_OF_THE_RUN = (
    *("details", "steps_left_out", "naive", "budget", "affordable", "prices_assumed"),
    *("moves", "added", "removed", "kept", "brokers_added", "brokers_removed"),
    *("cost_before", "cost_fresh", "max_moves"),
)


def open_provision(place: Place, workload: Place | None) -> View:
    """O(topics, brokers and names of subscribers) in memory, and one pass over the
    interests; `workload` is where the plan says unless given."""
    header = read_plan_header(place)
    plan = read_plan_runs(place, header)
    where = workload or Place(header.workload["path"])
    placed = placed_of(plan, place, header, where)
    result = provision_result(place, header, placed, read_header(where))
    page = _provision_page(result, place, header)
    return view_of(page, placed, UNIT, len(plan.brokers))


def placed_of(plan: Plan, place: Place, header: PlanHeader, workload: Place) -> Placed:
    """Where the topics and pairs of a stored plan are."""
    about = read_header(workload)
    rates, names = read_topics(workload, about)
    lists, people = about.files["interests"], about.files["subscribers"]
    interests, subscribers = workload / "interests", workload / "subscribers"
    own = has_column(subscribers, people, "threshold")
    return Placed(
        plan,
        rates,
        count_followers(interests, lists, len(rates)),
        Search(names),
        Search(read_names(subscribers, people)),
        Rows.of(interests, lists),
        Rows.of(place / "placement", header.files["placement"]),
        Rows.of(subscribers, people) if own else None,
    )


def provision_result(
    place: Place, header: PlanHeader, placed: Placed, workload: WorkloadHeader
) -> dict[str, Any]:
    """What `brokerwise provision --json` prints, as far as it is known."""
    facts = {
        "period_seconds": workload.period_seconds,
        "message_bytes": workload.message_bytes,
        "subscribers": workload.subscribers,
        "pairs_wanted": workload.pairs,
        "own_thresholds": placed.people is not None,
        "workload": header.workload["path"],
        "workload_digest": workload.digest,
    }
    result = plan_result(placed.plan, header, place, facts)
    kept = kept_of(place, header.digest, *_OF_THE_RUN)
    said = kept.pop("details", None)
    steps = said.get("steps", []) if isinstance(said, dict) else []
    topics = placed.rates, placed.topics.names
    more = provision_details(placed.plan, (), topics, result) | {"steps": steps}
    unknown = {**unsaid(header.seconds), "prices_assumed": False}
    return {**result, **unknown, **kept, "details": more}


def _provision_page(result: dict[str, Any], place: Place, header: PlanHeader) -> Page:
    """The report's page, with what other plans cost in front."""
    page = page_of_plan(place, result)
    compared = tradeoff(place, header)
    if compared is None:
        return page
    return replace(page, plots=[compared, *page.plots])


_MOST = 200  # directories that are looked into
_NUMBERS = ("threshold", "cost", "bound")


def tradeoff(place: Place, header: PlanHeader) -> Plot | None:
    """Cost against threshold of this plan and of those beside it, one line a fleet;
    None if it is the only one. `provision` puts several plans beside each other."""
    own = _compared(header)
    others = list(_beside(place, header))
    if not others:
        return None
    plot = cost_against_threshold([own, *others])
    cost = own["cost"]
    text = f"this plan, {title(own)}: {dollars(cost)}"
    this = Series("this plan", [own["threshold"]], [cost], [text], "points", 3)
    return replace(
        plot,
        caption=f"{plot.caption} The plans are those that lie beside this one and are "
        "for the same workload.",
        series=[*plot.series, this],
    )


def _beside(place: Place, header: PlanHeader) -> Iterator[dict[str, Any]]:
    """The other plans of kind provision in the directory that the plan is in, as far
    as they can be compared: what is wrong with them is nothing of this one's."""
    for folder in _folders(place.local):
        try:
            found = read_plan_header(Place(str(folder)))
            same = found.workload["digest"] == header.workload["digest"]
            absent = found.status in WITHOUT_PLAN
            if not same or found.kind != header.kind or absent:
                continue
            compared = _compared(found)
            usable = all(isfinite(compared[key]) for key in _NUMBERS)
        except (InputError, OSError, TypeError, ValueError, LookupError, OverflowError):
            continue
        if usable:
            yield compared


def _folders(here: Path | None) -> Sequence[Path]:
    if here is None:
        return []
    every = sorted(here.resolve().parent.glob(f"*/{HEADER}"))
    return [f.parent for f in every if f.parent != here.resolve()][:_MOST]


def _compared(header: PlanHeader) -> dict[str, Any]:
    """As much of a plan's result as a comparison needs."""
    return {
        "threshold": header.threshold,
        "types": [
            {"type": kind.name, "capacity": kind.capacity}
            for kind in read_fleet(header)
        ],
        "cost": header.objective,
        "bound": header.bound,
    }


def open_fill(place: Place, workload: Place | None) -> View:
    """Plan and workload in memory, as they were when the fleet was filled."""
    header = read_plan_header(place)
    where = workload or Place(header.workload["path"])
    filled = Filled(read_plan(place), header, read_workload(where))
    placed = placed_of(filled.plan, place, header, where)
    page = page_of_plan(place, _fill_result(place, filled))
    return view_of(page, placed, UNIT, len(filled.plan.brokers))


def _fill_result(place: Place, filled: Filled) -> dict[str, Any]:
    """What `brokerwise fill --json` prints."""
    header = filled.header
    return {
        **fill_result(filled, _asked(filled), place, _at_once),
        "details": fill_details(
            filled.plan, filled.workload.rates, filled.workload.followers()
        ),
        "workload": header.workload["path"],
        "workload_digest": header.workload["digest"],
        **unsaid(header.seconds),
        **kept_of(place, header.digest, "more"),
    }


def _at_once() -> bool:
    """How many more brokers would carry everything is not searched for again."""
    return True


def _asked(filled: Filled) -> Fleet | Bandwidth:
    """The brokers that there were to fill, or the bandwidth to be split over them."""
    options = filled.plan.options
    if "total_bandwidth" in options:
        return Bandwidth(options["total_bandwidth"], options["max_broker"])
    return filled.plan.fleet
