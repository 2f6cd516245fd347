"""Line numbers and texts of rejected rows, against counting lines."""

import gzip
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brokerwise.kernels.delimited import MAX_LINE_BYTES
from brokerwise.pipeline.ingest import rejects as locating
from brokerwise.pipeline.ingest.options import IngestOptions
from brokerwise.pipeline.ingest.rejects import locate
from brokerwise.pipeline.ingest.rows import read_rows
from brokerwise.pipeline.ingest.sources import (
    PAIRS,
    SHOWN_BYTES,
    Source,
    find_sources,
    read_chunks,
    split_sources,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locate")


def source_of(path: Path, **options: Any) -> Source:
    chosen = IngestOptions(pairs=(str(path),), rates=("-",), **options)
    (source,) = find_sources(PAIRS, [str(path)], chosen.reading(PAIRS), 0)
    return source


def write(path: Path, content: bytes) -> Source:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return source_of(path, header=False)


def located(source: Source, positions: list[int]) -> list[tuple[int, str]]:
    return list(locate(source, np.array(positions, np.int64)))


def rejected(source: Source) -> list[tuple[int, str]]:
    """Line and text of every rejected row."""
    splits = [split for group in split_sources([source]) for split in group]
    found = [rows.rejects.position for s in splits for rows in read_rows(s, 4096)]
    return located(source, [int(p) for positions in found for p in positions])


LINE = st.sampled_from(
    [b"a,b", b"", b"bad", b"# a comment", b" ", b"x,y,z", b"\xff\xfe", b"caf\xc3\xa9"]
)
TEXT = st.tuples(
    st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r\n"])).map(b"".join)),
    st.sampled_from([b"", b"bad", b"a,b"]),
).map(lambda parts: b"".join(parts[0]) + parts[1])


@given(TEXT, st.sampled_from([".csv", ".csv.gz"]), st.integers(1, 30), st.data())
def test_lines_are_numbered_as_an_editor_does(
    folder: Path, text: bytes, ending: str, chunk_bytes: int, data: st.DataObject
) -> None:
    assume(not text.startswith((b"\xff\xfe", b"\xfe\xff")))  # that is UTF-16
    source = write(folder / f"lines{ending}", text)
    lines = text.split(b"\n")
    starts = [sum(len(line) + 1 for line in lines[:k]) for k in range(len(lines))]
    rows = [k for k, line in enumerate(lines) if line.rstrip(b"\r")]
    chosen = sorted(data.draw(st.sets(st.sampled_from(rows)))) if rows else []

    def small_chunks(split: Any) -> Any:
        return read_chunks(split, chunk_bytes)

    with patch.object(locating, "read_chunks", small_chunks):
        found = located(source, [starts[k] for k in chosen])
    expected = [lines[k].removesuffix(b"\r") for k in chosen]
    assert found == [
        (k + 1, line.decode("utf-8", "backslashreplace"))
        for k, line in zip(chosen, expected, strict=True)
    ]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_rejected_rows_are_found_again(folder: Path, ending: str) -> None:
    lines = [b"topic,subscriber", b"a,b", b"", b"bad", b"c,d", b"1,2,3", b"x,\xff"]
    path = folder / f"again{ending}"
    content = b"\r\n".join(lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    assert rejected(source_of(path)) == [(4, "bad"), (6, "1,2,3"), (7, "x,\\xff")]


def test_comments_count_as_lines(folder: Path) -> None:
    text = b"# one\n  # two\n\na b\nbad\n# six\nworse and worse\n"
    assert rejected(write(folder / "c.txt", text)) == [
        (5, "bad"),
        (7, "worse and worse"),
    ]


def test_a_byte_order_mark_is_not_shown(folder: Path) -> None:
    assert rejected(write(folder / "b.csv", b"\xef\xbb\xbfbad\na,b\n")) == [(1, "bad")]


def test_objects_are_found_on_their_lines(folder: Path) -> None:
    ok = b'{"topic":1,"subscriber":2}'
    text = b"\n".join([ok, b"", b"[1]", ok, b'{"topic":1}', b"\xff"])
    assert rejected(write(folder / "o.jsonl", text)) == [
        (3, "[1]"),
        (5, '{"topic":1}'),
        (6, "\\xff"),
    ]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize("size", [2000, MAX_LINE_BYTES + 1, 20 << 20])
def test_of_a_long_line_the_start_is_shown(
    folder: Path, ending: str, size: int
) -> None:
    text = b"a,b\n" + b"x" * size + b"\nbad\nc,d\n"
    assert rejected(write(folder / f"long{ending}", text)) == [
        (2, "x" * SHOWN_BYTES),
        (3, "bad"),
    ]


@pytest.mark.parametrize("letter", ["é", "日", "🎈"])
@pytest.mark.parametrize("before", range(4))
def test_a_text_is_not_cut_inside_a_letter(
    folder: Path, letter: str, before: int
) -> None:
    line = "x" * before + letter * SHOWN_BYTES
    ((number, text),) = rejected(write(folder / "u.csv", line.encode()))
    assert number == 1
    assert line.startswith(text)
    assert SHOWN_BYTES - 4 < len(text.encode()) <= SHOWN_BYTES


def test_nothing_is_found_for_no_positions(folder: Path) -> None:
    assert located(write(folder / "n.csv", b"a,b\n"), []) == []
    assert located(write(folder / "n.csv", b""), []) == []


def test_rows_of_parquet_are_numbered_from_one(folder: Path) -> None:
    topics = ["a", "", "b", "é", None, "c", "d", ""]
    table = pa.table({"subscriber": range(8), "topic": topics, "junk": range(8)})
    pq.write_table(table, folder / "p.parquet", row_group_size=3)
    found = rejected(source_of(folder / "p.parquet"))
    assert [line for line, _ in found] == [2, 5, 8]
    assert [json.loads(text) for _, text in found] == [
        {"topic": "", "subscriber": 1},
        {"topic": None, "subscriber": 4},
        {"topic": "", "subscriber": 7},
    ]


@given(st.sets(st.integers(0, 19)), st.integers(1, 9))
def test_rows_of_parquet_are_found_in_any_row_group(
    folder: Path, chosen: set[int], per_group: int
) -> None:
    table = pa.table({"topic": [f"t{i}" for i in range(20)], "subscriber": range(20)})
    pq.write_table(table, folder / "g.parquet", row_group_size=per_group)
    found = located(source_of(folder / "g.parquet"), sorted(chosen))
    assert found == [
        (i + 1, f'{{"topic": "t{i}", "subscriber": {i}}}') for i in sorted(chosen)
    ]


def test_bytes_of_parquet_that_are_no_text_are_shown_as_numbers(folder: Path) -> None:
    spoiled = pa.array([b"caf\xe9", b"ok"])
    topic = pa.StringArray.from_buffers(2, *spoiled.buffers()[1:])
    who = pa.array([b"\xff", b"u"])
    pq.write_table(pa.table({"topic": topic, "subscriber": who}), folder / "x.parquet")
    ((line, text),) = rejected(source_of(folder / "x.parquet"))
    assert (line, json.loads(text)) == (1, {"topic": "caf\\xe9", "subscriber": "\\xff"})
