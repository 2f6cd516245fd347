"""The taxis on real processes, as the example runs them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerwise.reproduce.emergency.records import (
    FedSegment,
    Recorded,
    RecordedRun,
    RecordedSubscription,
)
from brokerwise.reproduce.taxi.city import Position, drawn_tracks, positions
from brokerwise.reproduce.taxi.driving import (
    Stored,
    compare,
    expected_updates,
    is_true,
    p90,
    record_of,
    stored_records,
)


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


RUN = Path(__file__).parents[3] / "examples" / "taxi" / "run.py"


@pytest.mark.long
def test_every_position_is_stored_once_and_every_update_heard_is_right(
    tmp_path: Path,
) -> None:
    words = [sys.executable, str(RUN), "--minutes", "0.5", "--taxis", "20"]
    words += ["--master", "local[2]", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    assert found["told"] == 20 * 30
    assert found["stored"]["found"] == found["told"] - found["dropped"]
    assert found["judgement"]["handed"] > 100
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "result.json"]
