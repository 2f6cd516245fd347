"""Taxis on their way, and what a broker makes of their positions."""

from math import dist
from pathlib import Path

import pytest

from brokerwise.model.errors import InputError
from brokerwise.reproduce.taxi import step
from brokerwise.reproduce.taxi.city import (
    SIDE_CM,
    Position,
    drawn_tracks,
    positions,
    region_of,
    tracks_of_trips,
)
from brokerwise.reproduce.taxi.driving import is_true, record_of


def test_tracks_follow_from_the_seed_and_stay_in_the_city() -> None:
    tracks = drawn_tracks(3, 5, 120)
    assert tracks == drawn_tracks(3, 5, 120) != drawn_tracks(4, 5, 120)
    for track in tracks:
        told = [position for position in positions(track, 3) if not position.glitch]
        assert all(0 <= c < SIDE_CM for p in told for c in p.place)
        assert all(dist(p.place, p.before) <= 1_500 for p in told)
        assert len({p.region for p in told}) > 1


def test_positions_count_from_one_and_few_are_nonsense() -> None:
    told = [p for t in drawn_tracks(1, 20, 200) for p in positions(t, 1)]
    assert [p.seq for p in told[:200]] == list(range(1, 201))
    glitches = [p for p in told if p.glitch]
    assert 10 < len(glitches) < 100
    assert not any(is_true(p) for p in glitches)
    assert all(is_true(p) for p in told if not p.glitch)


def test_the_step_says_what_the_oracle_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "PROCESSING_MS", 0.0)
    told = [p for t in drawn_tracks(2, 10, 100) for p in positions(t, 2)]
    told += [
        Position("edge", 1, 0, (-1, 6_000), (-1, 0), False),
        Position("edge", 2, 0, (-1, 6_001), (-1, 0), False),
        Position("edge", 3, 0, (3_600, 4_800), (0, 0), False),
        Position("edge", 4, 0, (3_601, 4_801), (0, 0), False),
    ]
    for position in told:
        found = step.clean(position.message(7))  # type: ignore[arg-type]
        if found is not None:
            assert isinstance(found.pop("processed_at"), int)
        assert found == (record_of(position, 7) if is_true(position) else None)


def test_a_step_takes_the_processor_time_that_it_says() -> None:
    from time import thread_time

    (track,) = drawn_tracks(1, 1, 1)
    (position,) = positions(track, 1)
    began = thread_time()
    step.clean(position.message(0))  # type: ignore[arg-type]
    assert thread_time() - began >= step.PROCESSING_MS / 1000


def test_tracks_of_trips_are_straight_and_of_the_busiest_minute(
    tmp_path: Path,
) -> None:
    lines = [
        "medallion,pickup_time,dropoff_time,"
        "pickup_lon,pickup_lat,dropoff_lon,dropoff_lat",
        "a,2013-01-01 12:00:00,2013-01-01 12:01:40,-73.98,40.75,-73.98,40.76",
        "b,2013-01-01 12:00:50,2013-01-01 12:01:00,-73.98,40.75,-73.97,40.75",
        "c,2013-01-01 15:00:00,2013-01-01 15:00:20,-73.98,40.75,-73.97,40.75",
        "d,2013-01-01 15:00:20,2013-01-01 15:00:10,-73.98,40.75,-73.97,40.75",
    ]
    file = tmp_path / "trips.csv"
    file.write_text("\n".join(lines) + "\n")
    a, b = tracks_of_trips(str(file), None, 5, 60)
    assert (a.taxi, b.taxi) == ("taxi/a", "taxi/b")
    assert b.places[:50] == (None,) * 50 and None not in b.places[50:]
    steps = {
        (q[0] - p[0], q[1] - p[1])
        for p, q in zip(a.places, a.places[1:], strict=False)
        if p and q
    }
    assert {x for x, _ in steps} == {0}
    assert all(abs(y - 111_195 / 100) <= 1 for _, y in steps)
    assert region_of(a.places[0] or (1, 1)) == "0_0"
    (tmp_path / "none.csv").write_text(lines[0] + "\n")
    with pytest.raises(InputError, match="has no trip that can be driven"):
        tracks_of_trips(str(tmp_path / "none.csv"), None, 5, 60)
