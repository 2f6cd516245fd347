"""A plan of kind provision or fill, opened: its brokers, and where its pairs are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.load import run_loads
from brokerwise.model.plan import Plan
from brokerwise.model.workload import NO_THRESHOLD
from brokerwise.report.html import Table
from brokerwise.report.numbers import counted, percent
from brokerwise.runtime.fleet.seeds import broker_name
from brokerwise.viewing.placed_words import (
    SubscriberPlaced,
    TopicPlaced,
    subscriber_why,
    topic_why,
)
from brokerwise.viewing.reading import Rows
from brokerwise.viewing.searching import Search
from brokerwise.viewing.shown import tables_json
from brokerwise.viewing.view import LISTED, Json, found
from brokerwise.viewing.words import listed

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
