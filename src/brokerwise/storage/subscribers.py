"""The tables that go by subscriber, block by block."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.interests import BLOCK
from brokerwise.model.names import Names
from brokerwise.model.workload import NO_THRESHOLD
from brokerwise.storage.place import Place
from brokerwise.storage.tables import (
    block_digest,
    list_array,
    lists_of,
    open_parquet,
    parquet_writer,
)

PAIRS_PER_PART = 2_000_000


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
    """Write `interests/name` and `subscribers/name`, a row group for each block.

    There must be a block: only it says which columns there are.
    """
    digests: list[tuple[bytes, bytes]] = []
    tables = ((_interests_table(b), _subscribers_table(b), b) for b in blocks)
    first = next(tables)
    with (
        parquet_writer(root / "interests" / name, first[0].schema) as lists,
        parquet_writer(root / "subscribers" / name, first[1].schema) as people,
    ):
        for wanted, who, block in _chain(first, tables):
            lists.write_table(wanted, row_group_size=BLOCK)
            people.write_table(who, row_group_size=BLOCK)
            digests.append(_digests(block))
    return _part_digests(digests)


def read_part(root: Place, name: str) -> Iterator[Block]:
    """The blocks of a part, in order, one in memory at a time.

    Files are refused whose rows do not carry the ids that they stand for.
    """
    with (
        open_parquet(root / "interests" / name) as lists,
        open_parquet(root / "subscribers" / name) as people,
    ):
        if lists.num_row_groups != people.num_row_groups:
            raise InputError(
                f"{root}: interests/{name} has {lists.num_row_groups:,} row groups, "
                f"subscribers/{name} has {people.num_row_groups:,}"
            )
        for group in range(lists.num_row_groups):
            wanted, who = lists.read_row_group(group), people.read_row_group(group)
            _check_ids(root, f"interests/{name}", wanted, wanted)
            _check_ids(root, f"subscribers/{name}", who, wanted)
            yield _block(wanted, who)


def part_digests(root: Place, name: str) -> PartDigests:
    """The digests of a part, computed from what its files hold now."""
    return digests_of(read_part(root, name))


def digests_of(blocks: Iterable[Block]) -> PartDigests:
    """The digests that blocks have, or would have, on disk."""
    return _part_digests(_digests(block) for block in blocks)


def _part_digests(blocks: Iterable[tuple[bytes, bytes]]) -> PartDigests:
    both = list(blocks)
    return PartDigests(tuple(i for i, _ in both), tuple(s for _, s in both))


def _digests(block: Block) -> tuple[bytes, bytes]:
    lengths = np.diff(block.offsets).astype(np.int64, copy=False)
    return (
        block_digest(lengths, block.topics),
        block_digest(block.names, block.thresholds, block.places),
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


def _check_ids(root: Place, file: str, table: pa.Table, first: pa.Table) -> None:
    """Refuse ids that do not count up from the first of another table."""
    ids = np.asarray(table["subscriber"])
    start = first["subscriber"][0].as_py() if len(first) else 0
    if not np.array_equal(ids, np.arange(start, start + len(first))):
        raise InputError(
            f"{root}: {file} must have the subscribers from {start:,} "
            f"to {start + len(first) - 1:,} in order"
        )


def _filled(column: pa.ChunkedArray, value: float) -> Any:
    return column.combine_chunks().fill_null(value).to_numpy(zero_copy_only=False)


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
