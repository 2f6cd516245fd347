"""What is stored and heard, told apart from what should be."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.experiments.emergency.recording import (
    FedSegment,
    Recorded,
    RecordedRun,
    RecordedSubscription,
)
from brokerwise.experiments.taxi.city import Position, drawn_tracks, positions
from brokerwise.experiments.taxi.oracle import (
    Stored,
    compare,
    expected_updates,
    is_true,
    record_of,
    stored_records,
)
from brokerwise.experiments.taxi.results import p90


def told() -> list[tuple[Position, int]]:
    tracks = drawn_tracks(5, 4, 60)
    return [(p, 1000 * p.second) for track in tracks for p in positions(track, 5)]


def test_what_is_lost_twice_wrong_or_strange_is_counted() -> None:
    records = [record_of(p, at) for p, at in told() if is_true(p)]
    count = len(records)
    assert compare(told(), records) == Stored(count, count, 0, 0, 0, 0)
    records[1] = records[0]
    records[2] = records[2] | {"speed": -1}
    records[3] = records[3] | {"taxi": "stranger"}
    found = compare(told(), records)
    assert found == Stored(count, count, lost=2, twice=1, wrong=1, strange=1)
    assert not found.is_good
    nonsense = [(p, at) for p, at in told() if not is_true(p)]
    assert nonsense and compare(nonsense, []).is_good


def record(taxi: str, region: str, speed: int, told_at: int) -> dict[str, Any]:
    return {"taxi": taxi, "region": region, "speed": speed, "told_at": told_at}


def test_updates_are_numbered_by_subscription_from_when_it_took_part(
    tmp_path: Path,
) -> None:
    fed = {
        2: [record("a", "0_0", 10, 1), record("b", "0_0", 5, 3)],
        3: [record("a", "0_1", 7, 2)],
        5: [record("a", "0_0", 4, 9), record("a", "0_0", 5, 8)],
    }
    recorded = Recorded()
    for number, rows in fed.items():
        file = f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / file)
        recorded.segments[number] = FedSegment(number, "positions", file, len(rows))
    for number, region, version in ((1, "0_0", 1), (2, "0_1", 1), (3, "0_0", 4)):
        one = RecordedSubscription(number, "updates", region, (region,), version)
        recorded.subscriptions[number] = one
    for number, first, last, version in ((1, 1, 3, 2), (2, 4, 5, 4)):
        run = RecordedRun("updates", number, first, last, last, version, 1, 0.0, 6.5)
        recorded.runs["updates", number] = run

    records = stored_records(recorded, tmp_path)
    assert records == fed
    found = {
        number: [result.text for result in results]
        for number, results in expected_updates(recorded, records).items()
    }
    early = '{"region":"0_0","taxis":2,"positions":2,"speed":7,"newest":3}'
    late = '{"region":"0_0","taxis":1,"positions":2,"speed":4,"newest":9}'
    other = '{"region":"0_1","taxis":1,"positions":1,"speed":7,"newest":2}'
    assert found == {1: [early, late], 2: [other], 3: [late]}


def test_p90_is_the_nearest_rank() -> None:
    assert [p90(range(1, n + 1)) for n in (1, 9, 10, 11, 100)] == [1, 9, 9, 10, 90]
    assert p90([]) is None
