"""From sorted ranges to the parts of a workload, cut at block boundaries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import SparkContext

from brokerwise.model.names import Names
from brokerwise.pipeline.attempts import attempt_name
from brokerwise.pipeline.ingest.pairs import Sorted
from brokerwise.storage.digest import BLOCK
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import (
    Block,
    PartDigests,
    blocks_per_part,
    lists_of,
    write_part,
)


@dataclass(frozen=True)
class Piece:
    """Rows [start, end) of a scratch file."""

    file: str
    start: int
    end: int


@dataclass(frozen=True)
class Part:
    """A part to write: for each of its blocks the pieces that make it up."""

    number: int
    first: int
    blocks: tuple[tuple[Piece, ...], ...]


def plan_parts(ranges: Sequence[Sorted]) -> list[Part]:
    """Cut consecutive ranges of subscribers into blocks, and blocks into parts."""
    ends = np.cumsum([r.subscribers for r in ranges]).astype(int)
    subscribers = int(ends[-1]) if len(ends) else 0
    per_part = blocks_per_part(subscribers, sum(r.pairs for r in ranges))
    blocks = [
        _pieces(ranges, ends, start, min(start + BLOCK, subscribers))
        for start in range(0, subscribers, BLOCK)
    ]
    return [
        Part(number, start * BLOCK, tuple(blocks[start : start + per_part]))
        for number, start in enumerate(range(0, len(blocks), per_part))
    ]


def _pieces(
    ranges: Sequence[Sorted], ends: "np.typing.NDArray[np.int_]", start: int, end: int
) -> tuple[Piece, ...]:
    pieces = []
    at = int(np.searchsorted(ends, start, side="right"))
    while start < end:
        first = int(ends[at]) - ranges[at].subscribers
        stop = min(end, int(ends[at]))
        if stop > start:
            pieces.append(Piece(ranges[at].file, start - first, stop - first))
        start = stop
        at += 1
    return tuple(pieces)


def write_parts(
    context: SparkContext, parts: Sequence[Part], scratch: Place, output: Output
) -> dict[str, PartDigests]:
    """Write all parts."""
    tables = ("interests", "subscribers")
    attempts, run = output.attempts(*tables), output.run

    def task(part: Part) -> tuple[int, str, PartDigests]:
        name = attempt_name(run, part.number)
        return part.number, name, write_part(attempts, name, _blocks(part, scratch))

    written = context.parallelize(list(parts), max(1, len(parts))).map(task).collect()
    digests = {}
    for number, attempt, digest in sorted(written, key=lambda w: w[0]):
        name = output.part(number)
        for table in tables:
            output.keep(f"{table}/{attempt}", f"{table}/{name}")
        digests[name] = digest
    return digests


def _blocks(part: Part, scratch: Place) -> Iterator[Block]:
    first = part.first
    for pieces in part.blocks:
        table = pa.concat_tables([_read(scratch, piece) for piece in pieces])
        offsets, topics = lists_of(table["topics"])
        held = table.column_names
        yield Block(
            first,
            Names.from_arrow(table["name"].combine_chunks()),
            offsets,
            topics,
            table["threshold"].to_numpy() if "threshold" in held else None,
            np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
            if "x" in held
            else None,
        )
        first += len(table)


def _read(scratch: Place, piece: Piece) -> pa.Table:
    """Rows of a scratch file, which has batches of BLOCK rows."""
    filesystem, path = (scratch / piece.file).open()
    local = (scratch / piece.file).local
    source = pa.memory_map(path) if local else filesystem.open_input_file(path)
    with source, pa.ipc.open_file(source) as file:
        first, last = piece.start // BLOCK, (piece.end - 1) // BLOCK
        batches = [file.get_batch(i) for i in range(first, last + 1)]
        table = pa.Table.from_batches(batches)
        return table.slice(piece.start - first * BLOCK, piece.end - piece.start)
