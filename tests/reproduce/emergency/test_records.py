"""What is read from a data cluster's state while it runs."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.reproduce.emergency.fed_state import FedState

from brokerwise.reproduce.emergency.records import (
    LOGGED_OUT,
    Diary,
    Life,
    RecordedRun,
    Recorder,
    read_diaries,
    write_diary,
)


def diary_of(user: str, text: str) -> Diary:
    diary = Diary(gaps=1, unexpected=2)
    first = diary.begin(Life(user, "a", False, 1.0, 2.0, 3.0, LOGGED_OUT))
    diary.begin(Life(user, "b", True, 1.5))
    diary.note(first, 4, 1, text, 10.0)
    diary.note(first, 4, 2, "same", 11.0)
    diary.notice(user, 5, 12.0, 12.5)
    return diary


def test_diaries_of_several_players_are_read_as_one(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        write_diary(diary_of(name, "same"), tmp_path / name)
    whole = read_diaries([tmp_path / "ann", tmp_path / "bob"])
    assert whole.lives == diary_of("ann", "").lives + diary_of("bob", "").lives
    assert whole.handed.life == [0, 0, 2, 2]
    assert whole.handed.seq == [1, 2, 1, 2]
    assert whole.handed.at == [10.0, 11.0, 10.0, 11.0]
    assert whole.noticed.user == ["ann", "bob"]
    assert whole.texts == {(4, 1): "same", (4, 2): "same"}
    assert (whole.gaps, whole.unexpected, whole.different) == (2, 4, 0)


def test_a_result_that_is_not_the_same_for_all_is_counted(tmp_path: Path) -> None:
    write_diary(diary_of("ann", "one"), tmp_path / "ann")
    write_diary(diary_of("bob", "another"), tmp_path / "bob")
    assert read_diaries([tmp_path / "ann", tmp_path / "bob"]).different == 1


def test_an_empty_diary_can_be_kept(tmp_path: Path) -> None:
    write_diary(Diary(), tmp_path)
    assert read_diaries([tmp_path]) == Diary()


def location(user: str, x: float) -> dict[str, str | float | int]:
    return {"user": user, "x": x, "y": 0.0, "at": 1}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[FedState]:
    made = FedState(tmp_path / "data")
    with closing(made.store):
        yield made


@pytest.fixture
def recorder(tmp_path: Path, state: FedState) -> Recorder:
    return Recorder(tmp_path / "data", tmp_path / "kept")


def test_segments_stay_when_the_data_cluster_merges_them(
    state: FedState, recorder: Recorder
) -> None:
    path = state.feed(1, "user_locations", [location("ann", 1.0)])
    recorder.look()
    path.unlink()
    state.store.sql.execute("DELETE FROM segments")
    state.feed(2, "user_locations", [location("bob", 2.0)])
    recorder.look()
    seen = recorder.recorded.segments
    assert [seen[n].dataset for n in (1, 2)] == ["user_locations"] * 2
    kept = pq.read_table(recorder.kept / seen[1].file, partitioning=None)
    assert kept.to_pylist() == [location("ann", 1.0)]


def test_runs_and_subscriptions_are_remembered_when_they_have_gone(
    state: FedState, recorder: Recorder
) -> None:
    state.channel("by_type", segment=3, skipped=2)
    state.run("by_type", 1, (1, 3), version=5)
    state.subscribe(7, "by_type", ["fire"], version=4)
    recorder.look()
    state.store.sql.execute("DELETE FROM subscriptions")
    state.store.sql.execute("DELETE FROM runs")
    recorder.look()
    seen = recorder.recorded
    expected = RecordedRun("by_type", 1, 1, 3, 3, 5, 0, 1.0, 1.5)
    assert seen.runs == {("by_type", 1): expected}
    assert seen.subscriptions[7].parameters == ("fire",)
    assert seen.lasts == {}
    assert seen.skipped == {"by_type": 2}


def test_covered_is_what_all_channels_have_covered(
    state: FedState, recorder: Recorder
) -> None:
    assert recorder.covered() == 0
    state.channel("by_type", segment=9)
    state.channel("in_cell", segment=3)
    assert recorder.covered() == 3


def test_behind_are_those_online_who_have_not_had_everything(
    state: FedState, recorder: Recorder
) -> None:
    state.subscribe(7, "by_type", ["fire"], version=1)
    state.store.sql.execute("UPDATE subscriptions SET last = 10")
    for user, seq, broker in (("ann", 10, "b0"), ("bob", 9, "b1"), ("eve", 3, "")):
        state.store.sql.execute(
            "INSERT INTO frontends VALUES (?, 7, ?, ?, 0)", (user, seq, broker)
        )
    assert recorder.behind() == 1
