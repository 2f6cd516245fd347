"""The latest record of each key, against a dictionary."""

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
    at,
    contents,
    feeding,
    files,
    latest,
    lines,
    named_files,
    run,
)
from tests.tiers import examples

from brokerwise.runtime.data_cluster.datasets import create_dataset, drop_dataset
from brokerwise.runtime.data_cluster.kept_segments import KeptSegments
from brokerwise.runtime.data_cluster.keyed import KeyedState, latest_of, stored_latest
from brokerwise.runtime.data_cluster.segments import (
    Segment,
    add_segment,
    read_segments,
    remove_files,
    remove_leftovers,
    segments_of,
)
from brokerwise.runtime.net.refusals import NotFoundError
from brokerwise.runtime.process.state_file import StateError

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
                    await KeptSegments(f.store, f.keyed, lambda: 0.0).merge(
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


def test_many_records_that_nobody_asks_for_do_not_pile_up(quick_path: Path) -> None:
    async def feed() -> None:
        async with feeding(quick_path) as f:
            (table,) = [pa.table({"user": ["a", "b"] * 3_000, "x": [1.0, 2.0] * 3_000})]
            table = table.cast(f.keyed.table("locations").schema)
            before = pa.total_allocated_bytes()
            for _ in range(50):
                f.keyed.add("locations", table.take(list(range(6_000))))
            assert pa.total_allocated_bytes() - before < 10 * table.nbytes
            assert f.keyed.table("locations").num_rows == 2

    run(feed())


def test_a_dataset_made_again_under_its_name_begins_empty(quick_path: Path) -> None:
    async def feed() -> None:
        async with feeding(quick_path) as f:
            await f.feeder.feed("locations", at("ann", 1.0))
            with f.store.change() as sql:
                gone = drop_dataset(sql, "locations")
            remove_files(f.store, gone)
            with pytest.raises(NotFoundError):
                f.keyed.table("locations")
            with f.store.change() as sql:
                create_dataset(sql, LOCATIONS, 2.0)
            assert f.keyed.table("locations").num_rows == 0
            await f.feeder.feed("locations", at("ben", 2.0))
            assert f.keyed.table("locations").to_pylist() == [{"user": "ben", "x": 2.0}]

    run(feed())


def test_a_segment_whose_file_is_lost_is_named(quick_path: Path) -> None:
    async def feed() -> None:
        async with feeding(quick_path) as f:
            await f.feeder.feed("locations", at("ann", 1.0))
            (segment,) = segments_of(f.store.sql, "locations")
            f.store.segment_path(segment.file).unlink()
            with pytest.raises(StateError, match=segment.file):
                KeyedState(f.store)

    run(feed())


def test_segments_are_found_between_two_numbers(quick_path: Path) -> None:
    async def feed() -> None:
        async with feeding(quick_path) as f:
            for n in range(1, 5):
                await f.feeder.feed("locations", at(f"u{n}", n))
            found = segments_of(f.store.sql, "locations", 1, 3)
            assert [segment.number for segment in found] == [2, 3]
            table = read_segments(f.store, LOCATIONS, found)
            assert table["user"].to_pylist() == ["u2", "u3"]
            add_segment(f.store.sql, Segment(9, "reports", "x", 1, 1, 1.0))
            assert len(segments_of(f.store.sql, "locations")) == 4

    run(feed())


def test_a_file_that_cannot_be_removed_now_waits_for_the_next_start(
    quick_path: Path,
) -> None:
    async def feed() -> None:
        async with feeding(quick_path) as f:
            await f.feeder.feed("locations", at("ann", 1.0))
            with f.store.change() as sql:
                gone = drop_dataset(sql, "locations")
            with patch.object(Path, "unlink", side_effect=PermissionError):
                remove_files(f.store, gone)
            assert files(f.store) == set(gone)
            assert remove_leftovers(f.store) == 1
            assert files(f.store) == set()

    run(feed())
