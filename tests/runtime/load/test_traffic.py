"""What a plan says that brokers, links and users see, against plain simulation."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auditing.naive import provisioned
from tests.auditing.overlay_cases import Literal, plans
from tests.tiers import examples

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.workload import Workload
from brokerwise.runtime.broker.topics import Overlay
from brokerwise.runtime.fleet.approval import ApprovedPlan
from brokerwise.runtime.fleet.seeds import overlay_seed, placement_seed
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.traffic import (
    Difference,
    Figure,
    Latencies,
    LinkCounts,
    LoadReport,
    MessageCounts,
    Outcome,
    Period,
    Traffic,
    differences,
    period_of,
    since,
    traffic_of,
)
from brokerwise.runtime.protocol.seed import Seed


@dataclass
class Toy:
    """A fleet that passes messages one by one and counts, as brokers should."""

    seed: Seed
    received: Counter[tuple[str, str]] = field(default_factory=Counter)
    delivered: Counter[tuple[str, str]] = field(default_factory=Counter)
    forwarded: Counter[tuple[str, str]] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    got: Counter[str] = field(default_factory=Counter)

    def publish(self, topic: str) -> None:
        """To every broker that has a session of the topic."""
        for broker in {s.broker for s in self.seed.sessions if topic in s.topics}:
            self._fan_out(broker, topic, "")

    def publish_as(self, user: str, topic: str) -> None:
        home = next(s.broker for s in self.seed.sessions if s.user == user)
        self.sent[user] += 1
        self._pass_on(home, home, topic, user)

    def _pass_on(self, broker: str, origin: str, topic: str, user: str) -> None:
        self._fan_out(broker, topic, user)
        for child in Overlay(self.seed.overlay[broker]).branches(origin, topic):
            self.forwarded[broker, child] += 1
            self._pass_on(child, origin, topic, user)

    def _fan_out(self, broker: str, topic: str, user: str) -> None:
        self.received[broker, topic] += 1
        for session in self.seed.sessions:
            here = session.broker == broker and topic in session.topics
            if here and session.user != user:
                self.delivered[broker, topic] += 1
                self.got[session.user] += 1

    def traffic(self) -> Traffic:
        got = self.got if self.seed.overlay else {}
        return Traffic(self.received, self.delivered, self.forwarded, self.sent, got)


def replayed(period: Period) -> Traffic:
    toy = Toy(period.seed)
    for p in period.published:
        for _ in range(p.count):
            if p.user:
                toy.publish_as(p.user, p.topic)
            else:
                toy.publish(p.topic)
    return toy.traffic()


@settings(max_examples=examples(50))
@given(
    pairs=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1),
    rates=st.lists(st.integers(0, 5), min_size=5, max_size=5),
    capacity=st.integers(10, 40),
)
def test_a_placement_carries_what_was_planned(
    pairs: set[tuple[int, int]], rates: list[int], capacity: int
) -> None:
    workload = Workload.from_pairs(
        topics=[f"t{t}" for t, _ in pairs],
        subscribers=[f"u{u}" for _, u in pairs],
        rates={f"t{t}": rate for t, rate in enumerate(rates)},
    )
    plan = provisioned(workload, threshold=8, capacity=capacity)
    period = period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))
    seen = replayed(period)
    assert seen == period.planned
    loads = [period.loads_of(seen)[b.name] for b in period.seed.brokers]
    assert loads == plan.brokers.load.tolist()
    assert period.messages <= sum(rates)
    assert period.objective is None


@settings(max_examples=examples(100))
@given(plans())
def test_an_overlay_carries_what_was_planned_at_the_planned_cost(
    case: tuple[Network, OverlayPlan],
) -> None:
    network, plan = case
    period = period_of(ApprovedPlan(plan, network, overlay_seed(plan, network)))
    seen = replayed(period)
    assert seen == period.planned
    assert period.cost_of(seen) == plan.objective
    loads = [period.loads_of(seen)[b.name] for b in period.seed.brokers]
    assert loads == plan.load.tolist()
    truth = Literal(network, plan.broker.tolist())
    sent = {f"u{u}": sum(truth.sent(u).values()) for u in range(network.users)}
    assert dict(seen.sent) == {user: n for user, n in sent.items() if n}


def test_a_period_says_how_long_it_takes_and_how_large_messages_are() -> None:
    workload = Workload.from_pairs(
        topics=["a"],
        subscribers=["u"],
        rates={"a": 3},
        period_seconds=60,
        message_bytes=7,
    )
    plan = provisioned(workload, threshold=3, capacity=6)
    period = period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))
    assert (period.seconds, period.message_bytes, period.messages) == (60, 7, 3)
    assert period.planned.deliveries == 3
    assert np.array_equal(list(period.loads.values()), [6])


PLANNED = Traffic({("b0", "a"): 3}, {("b0", "a"): 6})
GOOD = Outcome(
    messages=3,
    planned=PLANNED,
    seen=PLANNED,
    loads={"b0": Figure(9, 9)},
    findings=Findings(),
    latencies=Latencies(1.0, 2.0, 3.0),
    seconds=0.5,
)


def test_the_same_is_the_same() -> None:
    assert GOOD.ok
    assert GOOD.differences == []
    assert replace(GOOD, cost=Figure(7, 7)).ok


@pytest.mark.parametrize(
    "changes",
    [
        {"findings": Findings(lost=1)},
        {"findings": Findings(twice=1)},
        {"findings": Findings(disordered=1)},
        {"findings": Findings(foreign=1)},
        {"loads": {"b0": Figure(9, 8)}},
        {"cost": Figure(7, 8)},
        {"seen": replace(PLANNED, forwarded={("b0", "b1"): 1})},
    ],
    ids=str,
)
def test_anything_else_is_not(changes: dict[str, object]) -> None:
    assert not replace(GOOD, **changes).ok  # type: ignore[arg-type]


def test_every_difference_is_named() -> None:
    seen = Traffic({("b0", "a"): 2, ("b1", "z"): 1}, {("b0", "a"): 6}, sent={"u": 4})
    assert list(differences(PLANNED, seen)) == [
        Difference("received", "b0 a", 3, 2),
        Difference("received", "b1 z", 0, 1),
        Difference("sent", "u", 0, 4),
    ]


def report(broker: str, **counts: int) -> LoadReport:
    topics = {"a": MessageCounts(counts["received"], counts["delivered"])}
    links = {"b9": LinkCounts(counts.get("forwarded", 0))}
    users = {"u": MessageCounts(counts.get("sent", 0), counts.get("got", 0))}
    return LoadReport(broker, 1, topics, links, users)


def test_counters_of_all_brokers_make_the_traffic() -> None:
    reports = [
        report("b0", received=3, delivered=0, forwarded=2, sent=1),
        report("b1", received=1, delivered=5, sent=1, got=4),
    ]
    assert traffic_of(reports) == Traffic(
        received={("b0", "a"): 3, ("b1", "a"): 1},
        delivered={("b1", "a"): 5},
        forwarded={("b0", "b9"): 2},
        sent={"u": 2},
        got={"u": 4},
    )


def test_only_what_was_counted_since_counts() -> None:
    before = traffic_of([report("b0", received=3, delivered=6)])
    after = traffic_of([report("b0", received=6, delivered=6, got=1)])
    assert since(before, after) == Traffic({("b0", "a"): 3}, got={"u": 1})
