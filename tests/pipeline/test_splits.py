"""Every line of a file is read once, however it is cut into pieces."""

import gzip
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.pipeline.ingest import sources
from brokerwise.pipeline.ingest.sources import (
    PAIRS,
    Chunk,
    Source,
    Split,
    read_chunks,
    split_sources,
)

LIMIT = 12
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)

# Empty lines, lines around the limit, either line end; the last may lack its own.
LINES = st.lists(
    st.tuples(
        st.integers(0, 3 * LIMIT).map(lambda size: (b"0123456789" * 4)[:size])
        | st.binary(max_size=6).map(lambda text: text.replace(b"\n", b"")),
        st.sampled_from([b"\n", b"\r\n"]),
    ).map(b"".join),
    max_size=8,
)
TEXTS = st.tuples(LINES, st.sampled_from([b"", b"x", b"a last, long line"])).map(
    lambda parts: b"".join(parts[0]) + parts[1]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("splits")


def plain(folder: Path, text: bytes, first: int = 0) -> Source:
    path = folder / "text.csv"
    path.write_bytes(text)
    return Source(0, PAIRS, str(path), "csv", False, len(text), first=first)


def packed(folder: Path, content: bytes, first: int = 0) -> Source:
    path = folder / "text.csv.gz"
    path.write_bytes(content)
    return Source(0, PAIRS, str(path), "csv", True, len(content), first=first)


def pieces(source: Source, cuts: Sequence[int]) -> list[Split]:
    """A file cut at some positions."""
    edges = sorted({source.first, *cuts, source.size})
    inside = [edge for edge in edges if source.first <= edge <= source.size]
    return [Split(source, a, b, b - a) for a, b in pairwise(inside)]


def whole(source: Source) -> Split:
    return Split(source, source.first, source.size, source.size)


def lines_of(text: bytes, first: int = 0) -> list[tuple[int, bytes]]:
    """Each line with its end, and where it starts, from a position on."""
    found = []
    at = first
    while at < len(text):
        newline = text.find(b"\n", at)
        end = newline + 1 if newline >= 0 else len(text)
        found.append((at, text[at:end]))
        at = end
    return found


def lines_in(chunks: Sequence[Chunk]) -> list[tuple[int, bytes]]:
    found = []
    for chunk in chunks:
        assert chunk.text
        assert not chunk.overlong
        lines = lines_of(chunk.text)
        found += [(chunk.position + at, line) for at, line in lines]
    return found


def read(parts: Sequence[Split], chunk_bytes: int) -> list[Chunk]:
    return [chunk for part in parts for chunk in read_chunks(part, chunk_bytes)]


@given(TEXTS, st.lists(st.integers(0, 120), max_size=6), st.integers(1, 40), st.data())
def test_lines_come_once_however_a_file_is_cut(
    folder: Path, text: bytes, cuts: list[int], chunk_bytes: int, data: st.DataObject
) -> None:
    starts = [at for at, _ in lines_of(text)] or [0]
    source = plain(folder, text, first=data.draw(st.sampled_from(starts)))
    chunks = read(pieces(source, cuts), chunk_bytes)
    assert lines_in(chunks) == lines_of(text, source.first)


@given(TEXTS.filter(lambda text: len(text) < 60), st.integers(1, 9))
def test_a_piece_has_the_lines_that_start_in_it(
    folder: Path, text: bytes, chunk_bytes: int
) -> None:
    source = plain(folder, text)
    for start in range(len(text)):
        for end in (start + 1, (start + len(text) + 1) // 2):
            if start < end <= len(text):
                part = Split(source, start, end, end - start)
                expected = [(at, t) for at, t in lines_of(text) if start <= at < end]
                assert lines_in(read([part], chunk_bytes)) == expected


@given(TEXTS, st.lists(st.integers(0, 120), max_size=6), st.integers(1, 40))
def test_a_line_over_the_limit_comes_once_whole_or_marked(
    folder: Path, text: bytes, cuts: list[int], chunk_bytes: int
) -> None:
    source = plain(folder, text)
    with patch.object(sources, "MAX_LINE_BYTES", LIMIT):
        chunks = read(pieces(source, cuts), chunk_bytes)
    lines = dict(lines_of(text))
    seen: list[int] = []
    for chunk in chunks:
        if chunk.overlong:
            line = lines[chunk.position]
            assert len(line.removesuffix(b"\n")) > LIMIT
            assert chunk.text
            assert line.startswith(chunk.text)
            seen.append(chunk.position)
        else:
            seen += [at for at, line in lines_in([chunk]) if lines[at] == line]
    assert seen == list(lines)


def test_a_line_that_is_far_too_long_is_never_held(folder: Path) -> None:
    text = b"a,b\n" + b"x" * 100_000 + b"\nc,d\n"
    source = plain(folder, text)
    with patch.object(sources, "MAX_LINE_BYTES", 2000):
        chunks = read([whole(source)], 512)
    marked = [chunk for chunk in chunks if chunk.overlong]
    assert marked == [Chunk(4, b"x" * sources.SHOWN_BYTES, overlong=True)]
    rest = [chunk for chunk in chunks if not chunk.overlong]
    assert lines_in(rest) == [(0, b"a,b\n"), (100_005, b"c,d\n")]


@given(st.lists(TEXTS, max_size=3), st.integers(1, 40), st.data())
def test_gzip_is_read_as_what_it_holds(
    folder: Path, members: list[bytes], chunk_bytes: int, data: st.DataObject
) -> None:
    text = b"".join(members)
    starts = [at for at, _ in lines_of(text)] or [0]
    content = b"".join(gzip.compress(member) for member in members)
    source = packed(folder, content, first=data.draw(st.sampled_from(starts)))
    chunks = read([whole(source)], chunk_bytes)
    assert lines_in(chunks) == lines_of(text, source.first)


SAMPLE = gzip.compress(b"".join(b"topic-%d,user-%d\n" % (i, i * i) for i in range(50)))


@pytest.mark.parametrize("kept", [*range(1, 30), len(SAMPLE) // 2, len(SAMPLE) - 1])
def test_gzip_that_was_cut_off_is_an_error(folder: Path, kept: int) -> None:
    with pytest.raises(DAMAGE):
        read([whole(packed(folder, SAMPLE[:kept]))], 64)


@given(st.integers(0, len(SAMPLE) - 1), st.integers(1, 255))
def test_gzip_with_a_wrong_byte_is_an_error_or_the_same_text(
    folder: Path, at: int, change: int
) -> None:
    changed = bytearray(SAMPLE)
    changed[at] ^= change
    try:
        chunks = read([whole(packed(folder, bytes(changed)))], 64)
    except DAMAGE:
        return
    assert lines_in(chunks) == lines_of(gzip.decompress(SAMPLE))


def small_splits() -> Any:
    return patch.multiple(sources, SMALLEST_SPLIT=10, LARGEST_SPLIT=40, OPENING_BYTES=3)


@given(
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=8),
    st.integers(0, 3),
)
def test_groups_hold_every_byte_once_and_are_not_too_large(
    files: list[tuple[int, bool]], first: int
) -> None:
    sources = [
        Source(i, PAIRS, f"{i}.csv", "csv", gzipped, size, first=min(first, size))
        for i, (size, gzipped) in enumerate(files)
    ]
    with small_splits():
        groups = split_sources(sources)
    found = [split for group in groups for split in group]
    for source in sources:
        mine = [split for split in found if split.source == source]
        assert [mine[0].start, mine[-1].end] == [source.first, source.size]
        assert all(a.end == b.start for a, b in pairwise(mine))
        assert len(mine) == 1 or not source.gzipped
    for group in groups:
        assert group
        assert len(group) == 1 or sum(split.size + 3 for split in group) <= 40


@given(st.integers(0, 40), st.integers(1, 9))
def test_row_groups_of_parquet_are_shared_out_once(
    folder: Path, rows: int, per_group: int
) -> None:
    path = folder / "pairs.parquet"
    table = pa.table({"topic": list(range(rows)), "subscriber": list(range(rows))})
    pq.write_table(table, path, row_group_size=per_group)
    size = path.stat().st_size
    source = Source(0, PAIRS, str(path), "parquet", False, size)
    with patch.multiple(sources, SMALLEST_SPLIT=size // 3, LARGEST_SPLIT=size // 2):
        groups = split_sources([source])
    taken = [g for group in groups for s in group for g in range(s.start, s.end)]
    assert taken == list(range(pq.read_metadata(path).num_row_groups))
    assert sum(s.size for group in groups for s in group) <= size


def test_a_file_in_many_splits_reads_as_one(folder: Path) -> None:
    text = b"".join(b"%d,%d\n" % (i, i * i) for i in range(100))
    source = plain(folder, text, first=4)
    with small_splits():
        groups = split_sources([source])
        assert len(groups) > 10
        chunks = read([split for group in groups for split in group], 7)
    assert lines_in(chunks) == lines_of(text, 4)


def test_thousands_of_tiny_files_are_work_for_many_tasks() -> None:
    sources = [Source(i, PAIRS, f"{i}.csv", "csv", False, 100) for i in range(5000)]
    groups = split_sources(sources)
    assert 12 <= len(groups) <= 100
    assert max(len(group) for group in groups) < 600


@pytest.mark.parametrize(
    ("gigabytes", "least", "most"), [(0.1, 5, 10), (1, 50, 100), (2000, 30_000, 40_000)]
)
def test_how_many_tasks_read_a_file_goes_by_its_size(
    gigabytes: float, least: int, most: int
) -> None:
    source = Source(0, PAIRS, "big.csv", "csv", False, int(gigabytes * 2**30))
    assert least <= len(split_sources([source])) <= most


def test_nothing_to_read_gives_nothing(folder: Path) -> None:
    assert split_sources([]) == []
    (group,) = split_sources([plain(folder, b"")])
    assert read(group, 10) == []
    assert read([whole(packed(folder, b""))], 10) == []
    header_only = plain(folder, b"topic,subscriber", first=len("topic,subscriber"))
    (group,) = split_sources([header_only])
    assert read(group, 10) == []
