"""Names by a part of them, and single rows of tables in parts."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.names import Names
from brokerwise.show.view import (
    Hits,
    Rows,
    Search,
    count_followers,
    has_column,
    read_names,
)
from brokerwise.storage.place import Place

NAMES = st.lists(st.text("ab%", max_size=4), max_size=30)


@given(NAMES, st.text("ab%", min_size=1, max_size=2), st.integers(1, 5))
def test_exact_then_beginning_then_anywhere(
    names: list[str], text: str, most: int
) -> None:
    def rank(name: str) -> int:
        return 0 if name == text else 1 if name.startswith(text) else 2

    expected = [n for n, name in enumerate(names) if text in name]
    expected.sort(key=lambda n: (rank(names[n]), n))
    found = Search(Names.of(names)).hits(text, most)
    assert found == Hits(tuple(expected[:most]), len(expected) > most)


def test_letters_of_all_alphabets_are_found() -> None:
    assert Search(Names.of(["straße", "東京", "a"])).hits("東").numbers == (1,)


def test_nothing_finds_nothing() -> None:
    assert Search(Names.of(["", "a"])).hits("") == Hits()


LISTS = [[0, 2], [], [2], [1, 2], [0], [], [2]]
PARTS = {"one.parquet": slice(0, 4), "other.parquet": slice(4, 7)}


@pytest.fixture
def folder(tmp_path: Path) -> Place:
    """Seven rows in two files, in row groups of two."""
    for name, rows in PARTS.items():
        table = pa.table(
            {
                "topics": pa.array(LISTS[rows], pa.list_(pa.int32())),
                "name": [f"u{n}" for n in range(7)][rows],
            }
        )
        pq.write_table(table, tmp_path / name, row_group_size=2)
    return Place(str(tmp_path))


def test_every_row_is_found_where_it_is(folder: Place) -> None:
    rows = Rows.of(folder, list(PARTS))
    assert rows.starts == (0, 2, 4, 6)
    found = [rows.row(n, "name", "topics") for n in range(7)]
    assert found == [{"name": f"u{n}", "topics": LISTS[n]} for n in range(7)]


def test_names_and_followers_are_those_of_all_parts(folder: Place) -> None:
    assert list(read_names(folder, list(PARTS))) == [f"u{n}" for n in range(7)]
    followers = count_followers(folder, list(PARTS), 4)
    assert np.array_equal(followers, [2, 1, 4, 0])


def test_a_table_without_parts_has_nothing(folder: Place) -> None:
    assert len(read_names(folder, [])) == 0
    assert not has_column(folder, [], "name")
    assert has_column(folder, list(PARTS), "name")
