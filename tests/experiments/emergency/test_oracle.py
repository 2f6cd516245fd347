"""The oracle against a plain reading of what the channels say, one pair at a time."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.emergency.fed_state import FedState

from brokerwise.experiments.emergency.city import (
    TYPES,
    Place,
    Report,
    cells,
    reports,
    shelters,
    somewhere,
)
from brokerwise.experiments.emergency.definitions import CHANNELS
from brokerwise.experiments.emergency.oracle import Oracle
from brokerwise.experiments.emergency.recording import Recorder

SHELTERS = [
    (str(s["shelter"]), Place(float(s["x"]), float(s["y"])))
    for s in shelters(3, 40)
    if float(s["x"]) < 3_000  # so that some are far from all of them
]
REPORTS = reports(3, 120, 60.0)
USERS = ("ann", "bob", "eve")
Row = dict[str, Any]
Rows = Iterator[Row]


def metres(a: Place, b: Place) -> int:
    return int(((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5)


def near(a: Place, b: Place, most: int) -> bool:
    return abs(a.x - b.x) <= most and abs(a.y - b.y) <= most


def row(report: Report, *names: str, **more: Any) -> Row:
    record = report.record(fed_at=int(report.at * 1000))
    return {name: record[name] for name in names} | more


def nearest(report: Report) -> list[Row]:
    found = sorted(
        (metres(report.place, place), name)
        for name, place in SHELTERS
        if near(report.place, place, 2_000)
    )
    return [{"metres": far, "shelter": name} for far, name in found[:3]]


def by_type(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if r.type == given[0]:
            yield row(r, "report", "severity", "cell", "text", "fed_at")


def in_cell(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if r.record(0)["cell"] == given[0]:
            yield row(r, "report", "type", "severity", "text", "fed_at")


def near_user(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    place = places.get(given[0])
    for r in new:
        if place and near(r.place, place, 1_000):
            names = ("report", "type", "severity", "text", "fed_at")
            yield row(r, *names, metres=metres(r.place, place))


def severe(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if (r.type, r.record(0)["cell"]) == given and r.severity >= 3:
            yield row(r, "report", "severity", "text", "fed_at")


def type_near_user(
    new: Sequence[Report], places: dict[str, Place], *given: str
) -> Rows:
    place = places.get(given[1])
    for r in new:
        if place and r.type == given[0] and near(r.place, place, 1_000):
            names = ("report", "severity", "cell", "text", "fed_at")
            yield row(r, *names, shelters=nearest(r))


def cell_shelters(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if r.record(0)["cell"] == given[0]:
            names = ("report", "type", "severity", "fed_at")
            yield row(r, *names, shelters=nearest(r))


def type_summary(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for cell in cells():
        there = [r for r in new if (r.type, r.record(0)["cell"]) == (given[0], cell)]
        if there:
            yield {
                "cell": cell,
                "reports": len(there),
                "worst": max(r.severity for r in there),
                "fed_at": min(int(r.at * 1000) for r in there),
            }


PLAIN: dict[str, Callable[..., Rows]] = {
    one.__name__: one
    for one in (
        by_type,
        in_cell,
        near_user,
        severe,
        type_near_user,
        cell_shelters,
        type_summary,
    )
}
GIVEN: dict[str, list[tuple[str, ...]]] = {
    "by_type": [(kind,) for kind in TYPES],
    "in_cell": [(cell,) for cell in cells()],
    "near_user": [(user,) for user in (*USERS, "nobody")],
    "severe": [(kind, cell) for kind in TYPES for cell in cells()],
    "type_near_user": [(kind, user) for kind in TYPES for user in USERS],
    "cell_shelters": [(cell,) for cell in cells()],
    "type_summary": [(kind,) for kind in TYPES],
}


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[tuple[FedState, Recorder, dict[str, Place]]]:
    """Segments 1 shelters, 2 old reports, 3 to 5 locations, 6 and 7 new reports,
    8 later locations, 9 later reports. Places are those as of segment 7."""
    rng = random.Random(5)
    state = FedState(tmp_path / "data")
    with closing(state.store):
        state.feed(1, "shelters", [shelter(*one) for one in SHELTERS])
        state.feed(2, "reports", [record(r) for r in REPORTS[:20]])
        places: dict[str, Place] = {}
        for number in (3, 4, 5):
            places |= {user: somewhere(rng) for user in USERS}
            moved = [located(user, place) for user, place in places.items()]
            state.feed(number, "user_locations", moved)
        state.feed(6, "reports", [record(r) for r in REPORTS[20:70]])
        state.feed(7, "reports", [record(r) for r in REPORTS[70:100]])
        later = [located(user, somewhere(rng)) for user in USERS]
        state.feed(8, "user_locations", later)
        state.feed(9, "reports", [record(r) for r in REPORTS[100:]])
        yield state, Recorder(tmp_path / "data", tmp_path / "kept"), places


def record(report: Report) -> Row:
    return report.record(fed_at=int(report.at * 1000))


def shelter(name: str, place: Place) -> Row:
    return {"shelter": name, "x": place.x, "y": place.y, "beds": 10}


def located(user: str, place: Place) -> Row:
    return {"user": user, "x": place.x, "y": place.y, "at": 1}


@pytest.mark.parametrize("channel", [channel.name for channel in CHANNELS])
def test_a_run_gives_what_the_channel_says_of_its_new_records(
    channel: str, fed: tuple[FedState, Recorder, dict[str, Place]]
) -> None:
    state, recorder, places = fed
    for number, values in enumerate(GIVEN[channel], start=1):
        state.subscribe(number, channel, values, version=number)
    state.run(channel, 1, (3, 7), version=len(GIVEN[channel]))
    recorder.look()
    results = Oracle(recorder.recorded, recorder.kept).results()
    found = 0
    for number, values in enumerate(GIVEN[channel], start=1):
        rows = list(PLAIN[channel](REPORTS[20:100], places, *values))
        texts = sorted(json.dumps(one, separators=(",", ":")) for one in rows)
        assert [result.text for result in results[number]] == texts
        found += len(texts)
    assert found > 5
    if "shelters" in channel:
        assert any('"shelters":[]' in r.text for rs in results.values() for r in rs)


def test_a_subscription_takes_part_from_its_version_on_and_seqs_go_on(
    fed: tuple[FedState, Recorder, dict[str, Place]],
) -> None:
    state, recorder, _ = fed
    state.subscribe(1, "by_type", ["fire"], version=1)
    state.subscribe(2, "by_type", ["fire"], version=3)
    state.run("by_type", 1, (2, 6), version=2)
    state.run("by_type", 2, (7, 9), version=3)
    recorder.look()
    results = Oracle(recorder.recorded, recorder.kept).results()
    fires = [r.report for r in REPORTS if r.type == "fire"]
    assert [json.loads(r.text)["report"] for r in results[1]] == fires
    assert [r.run for r in results[2]] == [2] * len(results[2])
    assert results[1][-len(results[2]) :] == results[2]
    assert results[2][0].committed == 2.5


def test_what_a_channel_set_aside_is_left_out(
    fed: tuple[FedState, Recorder, dict[str, Place]],
) -> None:
    state, recorder, _ = fed
    state.subscribe(1, "by_type", ["fire"], version=1)
    state.run("by_type", 1, (2, 9), version=1)
    state.store.sql.execute("INSERT INTO set_aside VALUES ('by_type', 7, 'bad', 0)")
    state.store.sql.execute("INSERT INTO set_aside VALUES ('in_cell', 6, 'bad', 0)")
    recorder.look()
    oracle = Oracle(recorder.recorded, recorder.kept)
    fires = [r.report for r in REPORTS[:70] + REPORTS[100:] if r.type == "fire"]
    found = [json.loads(r.text)["report"] for r in oracle.results()[1]]
    assert found == fires
    assert oracle.reports() == [r.report for r in REPORTS]
