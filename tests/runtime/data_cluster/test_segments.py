"""The latest record of each key, against a dictionary; what was fed is kept as long as
it is needed, and no longer."""

import asyncio
import os
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.data_cluster.feeds import (
    LOCATIONS,
    Fixture,
    at,
    contents,
    feeding,
    files,
    latest,
    lines,
    named_files,
    reports,
    run,
)
from tests.tiers import examples

from brokerwise.runtime.data_cluster import segments
from brokerwise.runtime.data_cluster.datasets import (
    create_dataset,
    drop_dataset,
)
from brokerwise.runtime.data_cluster.segments import (
    BATCH_SECONDS,
    KeyedState,
    Retention,
    Segment,
    add_segment,
    latest_of,
    next_segments,
    read_segments,
    segments_of,
    stored_latest,
)
from brokerwise.runtime.data_cluster.status import dataset_status
from brokerwise.runtime.data_cluster.store import counter
from brokerwise.runtime.net.errors import NotFoundError
from brokerwise.runtime.process.state_file import Sql, StateError
from brokerwise.runtime.protocol.data import Dataset, DatasetKind
from brokerwise.runtime.protocol.limits import KEPT_SECONDS

KEYS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), st.sampled_from(["", "a", "b", "\0", "é"])),
    "long": (pa.int64(), st.integers(-2, 2)),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 0.5, -1e300])),
    "boolean": (pa.bool_(), st.booleans()),
    "timestamp": (pa.timestamp("us", tz="UTC"), st.integers(0, 3)),
}
records = st.lists(
    st.fixed_dictionaries({name: kind[1] for name, kind in KEYS.items()}), max_size=12
)


@given(records, st.sampled_from(sorted(KEYS)))
def test_the_latest_are_the_last_of_each_key_in_order(
    found: list[dict[str, Any]], key: str
) -> None:
    schema = pa.schema([(name, kind[0]) for name, kind in KEYS.items()])
    table = pa.Table.from_pylist(found, schema)
    assert latest_of(table, key).to_pylist() == latest(table.to_pylist(), key)


users = st.sampled_from("abcd")
locations = st.lists(st.tuples(users, st.none() | st.floats(-9, 9)), max_size=5)
steps = st.lists(locations | st.sampled_from(["restart", "merge"]), max_size=8)


def test_the_state_is_the_latest_fed_also_after_restarts_and_merges(
    quick_path: Path,
) -> None:
    numbers = count()

    @settings(max_examples=examples(20))
    @given(steps)
    def check(todo: list[Any]) -> None:
        run(_follow(quick_path / str(next(numbers)), todo))

    check()


async def _follow(directory: Path, todo: list[Any]) -> None:
    fed: list[dict[str, Any]] = []
    todo = list(todo)  # examples are shown as they were, if they fail
    while todo:
        async with feeding(directory) as f:
            while todo and (step := todo.pop(0)) != "restart":
                if step == "merge":
                    await Retention(f.store, f.keyed, lambda: 0.0).merge(
                        "locations", most=1
                    )
                    assert len(segments_of(f.store.sql, "locations")) <= 1
                else:
                    batch = [{"user": user, "x": x} for user, x in step]
                    await f.feeder.feed("locations", lines(batch))
                    fed += batch
                assert f.keyed.table("locations").to_pylist() == latest(fed, "user")
                assert latest(contents(f.store, "locations"), "user") == latest(
                    fed, "user"
                )
            assert f.keyed.table("locations").equals(stored_latest(f.store, LOCATIONS))
            assert files(f.store) == named_files(f.store)


async def test_many_records_that_nobody_asks_for_do_not_pile_up(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        (table,) = [pa.table({"user": ["a", "b"] * 3_000, "x": [1.0, 2.0] * 3_000})]
        table = table.cast(f.keyed.table("locations").schema)
        before = pa.total_allocated_bytes()
        for _ in range(50):
            f.keyed.add("locations", table.take(list(range(6_000))))
        assert pa.total_allocated_bytes() - before < 10 * table.nbytes
        assert f.keyed.table("locations").num_rows == 2


async def test_a_dataset_made_again_under_its_name_begins_empty(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        await f.feeder.feed("locations", at("ann", 1.0))
        with f.store.change() as sql:
            gone = drop_dataset(sql, "locations")
        f.store.segments.remove(gone)
        with pytest.raises(NotFoundError):
            f.keyed.table("locations")
        with f.store.change() as sql:
            create_dataset(sql, LOCATIONS, 2.0)
        assert f.keyed.table("locations").num_rows == 0
        await f.feeder.feed("locations", at("ben", 2.0))
        assert f.keyed.table("locations").to_pylist() == [{"user": "ben", "x": 2.0}]


async def test_a_segment_whose_file_is_lost_is_named(quick_path: Path) -> None:
    async with feeding(quick_path) as f:
        await f.feeder.feed("locations", at("ann", 1.0))
        (segment,) = segments_of(f.store.sql, "locations")
        f.store.segments.path(segment.file).unlink()
        with pytest.raises(StateError, match=segment.file):
            KeyedState(f.store)


async def test_the_next_segments_of_a_dataset_are_found(quick_path: Path) -> None:
    async with feeding(quick_path) as f:
        for n in range(1, 5):
            await f.feeder.feed("locations", at(f"u{n}", n))
        found = next_segments(f.store.sql, ["locations"], after=1, most=2)
        assert [segment.number for segment in found] == [2, 3]
        table = read_segments(f.store, LOCATIONS, found)
        assert table["user"].to_pylist() == ["u2", "u3"]
        add_segment(f.store.sql, Segment(9, "reports", "x", 1, 1, 1.0))
        assert len(segments_of(f.store.sql, "locations")) == 4


async def test_a_file_that_cannot_be_removed_now_waits_for_the_next_start(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        await f.feeder.feed("locations", at("ann", 1.0))
        with f.store.change() as sql:
            gone = drop_dataset(sql, "locations")
        with patch.object(Path, "unlink", side_effect=PermissionError):
            f.store.segments.remove(gone)
        assert files(f.store) == set(gone)
        assert f.store.remove_leftovers() == 1
        assert files(f.store) == set()


def kept(f: Fixture) -> Retention:
    return Retention(f.store, f.keyed, lambda: f.now)


def numbers(f: Fixture, dataset: str = "reports") -> list[int]:
    return [segment.number for segment in segments_of(f.store.sql, dataset)]


def add_channel(sql: Sql, name: str, segment: int, *datasets: str) -> None:
    sql.execute(
        "INSERT INTO channels VALUES (?, '', '[]', 1, 0, ?, 0, 0, 0)", (name, segment)
    )
    for dataset in datasets:
        sql.execute("INSERT INTO channel_datasets VALUES (?, ?)", (name, dataset))


def cover(sql: Sql, channel: str, segment: int) -> None:
    sql.execute("UPDATE channels SET segment = ? WHERE name = ?", (segment, channel))


async def test_records_stay_until_they_are_old_and_every_reader_has_covered_them(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        sql = f.store.sql
        for n in range(4):
            f.now = 1_000.0 + n
            await f.feeder.feed("reports", reports(n))
        add_channel(sql, "slow", 1, "reports")
        add_channel(sql, "quick", 4, "reports", "locations")
        add_channel(sql, "other", 0, "locations")
        f.now = 1_000.0 + KEPT_SECONDS
        kept(f).forget()
        assert numbers(f) == [1, 2, 3, 4]  # none is older than that
        f.now += 2.5
        kept(f).forget()
        assert numbers(f) == [2, 3, 4]  # three are, one is covered by both
        cover(sql, "slow", 4)
        kept(f).forget()
        assert numbers(f) == [4]
        f.now += 1
        kept(f).forget()
        assert numbers(f) == []
        assert files(f.store) == set()
        await f.feeder.feed("reports", reports(5))
        assert numbers(f) == [5]  # a number is never used again


async def test_without_a_reader_records_stay_for_their_time(quick_path: Path) -> None:
    async with feeding(quick_path) as f:
        await f.feeder.feed("reports", reports(1))
        f.now += KEPT_SECONDS - 1
        kept(f).forget()
        assert numbers(f) == [1]
        f.now += 2
        kept(f).forget()
        assert numbers(f) == []


async def test_keyed_and_static_records_never_grow_old(quick_path: Path) -> None:
    async with feeding(quick_path) as f:
        with f.store.change() as sql:
            static = Dataset("shelters", DatasetKind.STATIC, LOCATIONS.columns)
            create_dataset(sql, static, 1.0)
        await f.feeder.feed("shelters", at("school", 1.0))
        await f.feeder.feed("locations", at("ann", 1.0))
        f.now += 100 * KEPT_SECONDS
        await kept(f).tidy()
        assert len(contents(f.store, "shelters")) == 1
        assert len(contents(f.store, "locations")) == 1


async def test_batch_ids_are_known_for_a_day_and_the_newest_rejected_for_ever(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MOST_ASIDE", 3)

    async with feeding(quick_path) as f:
        await f.feeder.feed("reports", b"bad\n" * 5, "b")
        await f.feeder.feed("locations", b"bad\n" * 2, "b")
        f.now += BATCH_SECONDS - 1
        kept(f).forget()
        assert (await f.feeder.feed("reports", b"", "b")).repeated
        shown = dataset_status(f.store.sql, "reports")
        assert [each.line for each in shown.last_rejected] == [5, 4, 3]
        assert shown.rejected == 5
        assert len(dataset_status(f.store.sql, "locations").last_rejected) == 2
        f.now += 2
        kept(f).forget()
        assert not (await f.feeder.feed("reports", b"", "b")).repeated


async def test_many_keyed_segments_become_one_under_the_last_number(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        for n in range(12):
            await f.feeder.feed("locations", at(f"u{n % 5}", n))
            await f.feeder.feed("reports", reports(n))
        before = latest(contents(f.store, "locations"), "user")
        await kept(f).merge("locations", most=12)
        assert len(numbers(f, "locations")) == 12  # not more than that
        await kept(f).merge("locations", most=11)
        assert numbers(f, "locations") == [23]
        assert contents(f.store, "locations") == before
        assert files(f.store) == named_files(f.store)
        assert counter(f.store.sql, "segment") == 24
        await f.feeder.feed("locations", at("u0", 99))
        assert numbers(f, "locations") == [23, 25]
    async with feeding(quick_path) as f:
        state = f.keyed.table("locations").to_pylist()
        assert state == latest([*before, {"user": "u0", "x": 99.0}], "user")


async def test_what_is_fed_while_segments_are_merged_is_kept(quick_path: Path) -> None:
    async with feeding(quick_path) as f:
        for n in range(5):
            await f.feeder.feed("locations", at(f"u{n}", n))
        merging = asyncio.create_task(kept(f).merge("locations", most=1))
        fed = asyncio.create_task(f.feeder.feed("locations", at("u0", 50)))
        await asyncio.gather(merging, fed)
        state = f.keyed.table("locations").to_pylist()
        assert state[-1] == {"user": "u0", "x": 50.0}
        assert latest(contents(f.store, "locations"), "user") == state
        assert numbers(f, "locations") == [5, 6]


async def test_a_dataset_dropped_while_it_is_merged_stays_dropped(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        for n in range(3):
            await f.feeder.feed("locations", at("ann", n))
        merging = asyncio.create_task(kept(f).merge("locations", most=1))
        await asyncio.sleep(0)
        with f.store.change() as sql:
            gone = drop_dataset(sql, "locations")
            create_dataset(sql, LOCATIONS, 2.0)
        f.store.segments.remove(gone)
        await merging
        assert numbers(f, "locations") == []
        assert files(f.store) == set()


@pytest.mark.parametrize("step", ["fsync", "replace"])
async def test_a_merge_that_fails_changes_nothing(quick_path: Path, step: str) -> None:
    async with feeding(quick_path) as f:
        for n in range(3):
            await f.feeder.feed("locations", at("ann", n))
        before = named_files(f.store)
        with (
            patch.object(os, step, side_effect=OSError("no space")),
            pytest.raises(OSError, match="no space"),
        ):
            await kept(f).merge("locations", most=1)
        assert files(f.store) == named_files(f.store) == before
        await kept(f).merge("locations", most=1)
        assert numbers(f, "locations") == [3]
