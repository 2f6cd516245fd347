"""Pieces of the input, one or more for each task, and the bytes of each."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from brokerwise.kernels.delimited import MAX_LINE_BYTES
from brokerwise.pipeline.ingest.sources import Source
from brokerwise.storage.place import Place

CHUNK_BYTES = 8 << 20
# A matter of the data alone: a cluster that grows with the work begins with few cores.
SMALLEST_SPLIT = 16 << 20
LARGEST_SPLIT = 64 << 20
MANY_SPLITS = 1000  # beyond, they become larger
OPENING_BYTES = 256 << 10  # what could be read in the time it takes to open a file
SHOWN_BYTES = 1000  # of a line that is too long


@dataclass(frozen=True)
class Split:
    """Part of a file: the rows that start in bytes [start, end) of plain text, the
    whole of a gzip file, or row groups [start, end) of a Parquet file."""

    source: Source
    start: int
    end: int
    size: int


def split_sources(sources: Sequence[Source]) -> list[list[Split]]:
    """The splits of all files, grouped so that tasks have about the same to do."""
    total = sum(s.size + OPENING_BYTES for s in sources)
    size = min(LARGEST_SPLIT, max(SMALLEST_SPLIT, total // MANY_SPLITS))
    groups: list[list[Split]] = []
    room = 0
    for source in sources:
        for split in _split(source, size):
            if split.size + OPENING_BYTES > room or not groups:
                groups.append([])
                room = size
            groups[-1].append(split)
            room -= split.size + OPENING_BYTES
    return groups


def _split(source: Source, size: int) -> Iterator[Split]:
    if source.format == "parquet":
        yield from _row_groups(source, size)
    elif source.gzipped or source.size <= size:
        yield Split(source, source.first, source.size, source.size)
    else:
        for start in range(source.first, source.size, size):
            end = min(start + size, source.size)
            yield Split(source, start, end, end - start)


def _row_groups(source: Source, size: int) -> Iterator[Split]:
    filesystem, path = Place(source.uri).open()
    groups = pq.read_metadata(path, filesystem=filesystem).num_row_groups
    each = max(1, groups * size // max(source.size, 1))
    for start in range(0, groups, each):
        end = min(start + each, groups)
        yield Split(source, start, end, source.size * (end - start) // groups)


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a text file, or the start of a line that is too long.

    Position counts bytes of the unpacked text.
    """

    position: int
    text: bytes
    overlong: bool = False


def read_chunks(split: Split, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The lines of a split, some whole lines at a time.

    A line longer than the limit that no chunk holds whole comes as a chunk that
    says so, with no more than its start.
    """
    filesystem, path = Place(split.source.uri).open()
    with filesystem.open_input_file(path) as file:
        if split.source.gzipped:
            with gzip.open(file) as unpacked:
                unpacked.read(split.start)
                yield from _lines(unpacked, split.start, None, chunk_bytes)
        else:
            start, end = _owned(file, split)
            file.seek(start)
            yield from _lines(file, start, end, chunk_bytes)


def _owned(file: Any, split: Split) -> tuple[int, int]:
    """Where the lines that start in a split begin and end."""
    start = split.start
    if start > split.source.first:
        start = _after_newline(file, start - 1)
    if split.end >= split.source.size:
        return start, split.source.size
    return start, max(start, _after_newline(file, split.end - 1))


def _after_newline(file: Any, at: int) -> int:
    """The first byte after the first newline at or behind `at`."""
    file.seek(at)
    while text := file.read(65_536):
        found = text.find(b"\n")
        if found >= 0:
            return int(at + found + 1)
        at += len(text)
    return int(at)


def _lines(
    stream: Any, position: int, end: int | None, chunk_bytes: int
) -> Iterator[Chunk]:
    carry = b""
    skipping = False
    while True:
        at = position + len(carry)
        wanted = chunk_bytes if end is None else min(chunk_bytes, end - at)
        text = stream.read(wanted) if wanted > 0 else b""
        if not text:
            if wanted > 0 and end is not None:
                raise EOFError(f"it ends at byte {at:,}, but had {end:,} before")
            break
        whole = carry + text
        cut = whole.rfind(b"\n") + 1
        lines, carry = whole[:cut], whole[cut:]
        if skipping and cut:
            skip = lines.find(b"\n") + 1
            position, lines, skipping = position + skip, lines[skip:], False
        if lines:
            yield Chunk(position, lines)
            position += len(lines)
        if skipping or len(carry) > MAX_LINE_BYTES:
            if not skipping:
                yield Chunk(position, carry[:SHOWN_BYTES], overlong=True)
            position += len(carry)
            carry, skipping = b"", True
    if carry and not skipping:
        yield Chunk(position, carry)
