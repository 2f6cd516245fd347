"""Every line of a file is read once, however it is cut into pieces."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.pipeline.ingest import splits
from brokerwise.pipeline.ingest.sources import PAIRS, Source
from brokerwise.pipeline.ingest.splits import Chunk, Split, read_chunks, split_sources

LIMIT = 12

# Lines around the limit, empty ones, and either end; the last may lack its own.
LINES = st.lists(
    st.tuples(
        st.integers(0, 3 * LIMIT).map(lambda size: b"abcdefghij"[: size % 10] * 4)
        | st.binary(max_size=6).map(lambda b: b.replace(b"\n", b"")),
        st.sampled_from([b"\n", b"\r\n"]),
    ),
    max_size=8,
)
TEXTS = st.tuples(LINES, st.sampled_from([b"", b"x", b"last line"])).map(
    lambda t: b"".join(line + end for line, end in t[0]) + t[1]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("splits")


def source_of(path: Path, first: int = 0, gzipped: bool = False) -> Source:
    size = path.stat().st_size
    return Source(0, PAIRS, str(path), "csv", gzipped, size, first=first)


def plain(folder: Path, text: bytes, first: int = 0) -> Source:
    path = folder / "text.csv"
    path.write_bytes(text)
    return source_of(path, first)


def packed(folder: Path, *texts: bytes, first: int = 0) -> Source:
    path = folder / "text.csv.gz"
    path.write_bytes(b"".join(gzip.compress(text) for text in texts))
    return source_of(path, first, gzipped=True)


def whole(source: Source) -> Split:
    return Split(source, source.first, source.size, source.size)


@contextmanager
def line_limit(size: int) -> Iterator[None]:
    with patch.object(splits, "MAX_LINE_BYTES", size):
        yield


def lines_of(text: bytes, first: int = 0) -> list[tuple[int, bytes]]:
    """Each line with its newline, and where it starts, from a position on."""
    found, at = [], first
    for line in text[first:].splitlines(keepends=True) if False else split_keep(text[first:]):
        found.append((at, line))
        at += len(line)
    return found
