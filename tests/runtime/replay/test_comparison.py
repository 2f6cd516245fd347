"""Planned beside seen."""

from dataclasses import replace

import pytest

from brokerwise.runtime.replay.arrivals import Findings
from brokerwise.runtime.replay.comparison import (
    Difference,
    Figure,
    Latencies,
    Outcome,
    differences,
    since,
)
from brokerwise.runtime.replay.counters import LoadReport, Passed, Seen, traffic_of
from brokerwise.runtime.replay.traffic import Traffic

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
    topics = {"a": Seen(counts["received"], counts["delivered"])}
    links = {"b9": Passed(counts.get("forwarded", 0))}
    users = {"u": Seen(counts.get("sent", 0), counts.get("got", 0))}
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
