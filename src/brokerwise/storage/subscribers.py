"""The tables that go by subscriber, block by block."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.names import Names
from brokerwise.model.workload import NO_THRESHOLD
from brokerwise.storage.digest import BLOCK, block_digest
from brokerwise.storage.place import Place

PAIRS_PER_PART = 2_000_000
COMPRESSION = "zstd"
LISTS = pa.list_(pa.field("element", pa.int32(), nullable=False))


@dataclass(frozen=True, eq=False)
class Block:
    """Up to 65,536 subscribers, the first of which has id `first`."""

    first: int
    names: Names
    offsets: Int64s
    topics: Int32s
    thresholds: Int64s | None = None
    places: Float64s | None = None

    @property
    def ids(self) -> Int64s:
        return np.arange(self.first, self.first + len(self.names), dtype=np.int64)


@dataclass(frozen=True)
class PartDigests:
    """The digests of a part's blocks, in order."""

    interests: tuple[bytes, ...]
    subscribers: tuple[bytes, ...]


def blocks_per_part(subscribers: int, pairs: int) -> int:
    """How many blocks share a file: a matter of the data alone."""
    blocks = -(-subscribers // BLOCK)
    return max(1, blocks * PAIRS_PER_PART // max(pairs, 1)) if blocks else 1


def write_part(root: Place, name: str, blocks: Iterable[Block]) -> PartDigests:
    """Write `interests/name` and `subscribers/name`, a row group for each block."""
    interests: list[bytes] = []
    subscribers: list[bytes] = []
    tables = ((_interests_table(b), _subscribers_table(b), b) for b in blocks)
    first = next(tables)
    with (
        parquet_writer(root / "interests" / name, first[0].schema) as lists,
        parquet_writer(root / "subscribers" / name, first[1].schema) as people,
    ):
        for wanted, who, block in _chain(first, tables):
            lists.write_table(wanted, row_group_size=BLOCK)
            people.write_table(who, row_group_size=BLOCK)
            lengths = np.diff(block.offsets)
            interests.append(block_digest(lengths, block.topics))
            subscribers.append(
                block_digest(block.names, block.thresholds, block.places)
            )
    return PartDigests(tuple(interests), tuple(subscribers))


def read_part(root: Place, name: str) -> Iterator[Block]:
    """The blocks of a part, in order, one in memory at a time."""
    with (
        open_parquet(root / "interests" / name) as lists,
        open_parquet(root / "subscribers" / name) as people,
    ):
        for group in range(lists.num_row_groups):
            yield _block(lists.read_row_group(group), people.read_row_group(group))


def part_digests(root: Place, name: str) -> PartDigests:
    """The digests of a part, computed from what its files hold now."""
    interests, subscribers = [], []
    for block in read_part(root, name):
        interests.append(block_digest(np.diff(block.offsets), block.topics))
        subscribers.append(block_digest(block.names, block.thresholds, block.places))
    return PartDigests(tuple(interests), tuple(subscribers))


def lists_of(column: pa.ChunkedArray) -> tuple[Int64s, Int32s]:
    """Offsets from zero, and values, of a column of lists."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values.to_numpy()[offsets[0] : offsets[-1]]
    return offsets - offsets[0], values


def list_array(offsets: Int64s, values: Int32s) -> pa.Array:
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), pa.array(values), type=LISTS
    )


def _interests_table(block: Block) -> pa.Table:
    return pa.table(
        {
            "subscriber": block.ids,
            "topics": list_array(block.offsets, block.topics),
        }
    )


def _subscribers_table(block: Block) -> pa.Table:
    columns: dict[str, Any] = {"subscriber": block.ids, "name": block.names.to_arrow()}
    if block.thresholds is not None:
        columns["threshold"] = pa.array(block.thresholds, mask=block.thresholds < 0)
    if block.places is not None:
        columns["x"] = pa.array(block.places[:, 0], from_pandas=True)
        columns["y"] = pa.array(block.places[:, 1], from_pandas=True)
    return pa.table(columns)


def _block(interests: pa.Table, subscribers: pa.Table) -> Block:
    offsets, topics = lists_of(interests["topics"])
    names = Names.from_arrow(subscribers["name"].combine_chunks())
    held = subscribers.column_names
    return Block(
        int(interests["subscriber"][0].as_py()) if len(interests) else 0,
        names,
        offsets,
        topics,
        _filled(subscribers["threshold"], NO_THRESHOLD)
        if "threshold" in held
        else None,
        np.column_stack([_filled(subscribers[c], np.nan) for c in ("x", "y")])
        if "x" in held
        else None,
    )


def _filled(column: pa.ChunkedArray, value: float) -> Any:
    return column.combine_chunks().fill_null(value).to_numpy(zero_copy_only=False)


def parquet_writer(place: Place, schema: pa.Schema) -> pq.ParquetWriter:
    filesystem, path = place.open()
    return pq.ParquetWriter(
        path,
        schema,
        filesystem=filesystem,
        compression=COMPRESSION,
        use_dictionary=False,
        write_statistics=["subscriber"],
    )


def open_parquet(place: Place) -> pq.ParquetFile:
    filesystem, path = place.open()
    return pq.ParquetFile(filesystem.open_input_file(path))


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
