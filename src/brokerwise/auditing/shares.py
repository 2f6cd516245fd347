"""The blocks that a task checks: which files they lie in, and whether every pair is
right.

Row groups of interests and placement are blocks of 65,536 subscribers, as we write
them. Files may be cut between any two blocks, those of a plan at other places than
those of its workload.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brokerwise.auditing import block_checks
from brokerwise.auditing.files import INTERESTS, SUBSCRIBERS, THRESHOLD, Case
from brokerwise.auditing.recount import TopicSums
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.interests import BLOCK
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PLACEMENT, PlacementBlock
from brokerwise.storage.subscribers import Block, read_part
from brokerwise.storage.tables import (
    block_digest,
    check_columns,
    lists_of,
    open_parquet,
    refuse_missing_values,
)

# Footers are small: on an object store it is the waiting that takes time.
_AT_ONCE = 16


class Deviation(Exception):
    """Something is not as it is in a plan that is right, for whatever reason."""


@dataclass(frozen=True)
class Groups:
    """Row groups of one file of the placement, from `start` to before `stop`."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Share:
    """What one task checks: blocks that follow each other, `first` the number of the
    first. The workload's are in whole `parts`, the plan's in `groups`."""

    first: int
    parts: tuple[str, ...]
    groups: tuple[Groups, ...]


def shares_of(case: Case, tasks: int) -> list[Share]:
    """The blocks of a case in so many shares, or fewer if there are few files.

    Reads the footer of every file, and raises Deviation if their row groups are not
    blocks. Raises InputError for a file that has other columns than it should.
    """
    names = case.header.files["interests"]
    if names != case.header.files["subscribers"]:
        raise Deviation("interests and subscribers are in other files")
    wanted = _rows(case.workload / "interests", names, INTERESTS)
    _rows(case.workload / "subscribers", names, SUBSCRIBERS, THRESHOLD)
    placed = _rows(
        case.plan.place / "placement", case.plan.parts, PLACEMENT, exact=True
    )
    rows = [n for part in wanted for n in part]
    if rows != [n for part in placed for n in part]:
        raise Deviation("workload and placement are in other blocks")
    if rows != blocks(case.header.subscribers):
        raise Deviation(f"row groups are not blocks of {BLOCK:,} subscribers")
    return _split(names, [len(part) for part in wanted], _groups(case, placed), tasks)


def blocks(subscribers: int) -> list[int]:
    """How many subscribers each block has."""
    return [min(BLOCK, subscribers - at) for at in range(0, subscribers, BLOCK)]


def _split(
    names: Sequence[str], sizes: Sequence[int], groups: Sequence[Groups], tasks: int
) -> list[Share]:
    """Whole parts, as evenly as they come; `groups` has one entry for each block."""
    tasks = min(tasks, len(names))
    cuts = [len(names) * task // tasks for task in range(tasks + 1)] if tasks else []
    shares, first = [], 0
    for start, stop in pairwise(cuts):
        last = first + sum(sizes[start:stop])
        shares.append(
            Share(first, tuple(names[start:stop]), _joined(groups[first:last]))
        )
        first = last
    return shares


def _groups(case: Case, placed: Sequence[Sequence[int]]) -> list[Groups]:
    return [
        Groups(name, number, number + 1)
        for name, rows in zip(case.plan.parts, placed, strict=True)
        for number in range(len(rows))
    ]


def _joined(groups: Sequence[Groups]) -> tuple[Groups, ...]:
    joined: list[Groups] = []
    for group in groups:
        if joined and joined[-1].name == group.name:
            group = Groups(group.name, joined.pop().start, group.stop)
        joined.append(group)
    return tuple(joined)


def _rows(
    folder: Place,
    names: Sequence[str],
    columns: pa.Schema,
    optional: pa.Schema | None = None,
    *,
    exact: bool = False,
) -> list[list[int]]:
    """The rows of each row group of each file, whose columns are those expected."""

    def rows(name: str) -> list[int]:
        with open_parquet(folder / name) as parquet:
            found, metadata = parquet.schema_arrow, parquet.metadata
        check_columns(
            folder / name,
            found,
            columns,
            optional=optional or pa.schema([]),
            exact=exact,
        )
        return [
            metadata.row_group(group).num_rows
            for group in range(metadata.num_row_groups)
        ]

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(rows, names))


@dataclass(frozen=True, eq=False)
class Reference:
    """What every task compares with, O(topics + runs).

    Attributes
    ----------
    first_run
        Where the runs of each topic begin, and after the last one where they end.
    run_broker
        The broker of each run, ascending for each topic.
    threshold
        What subscribers without a threshold of their own are promised; None if the
        plan promises nothing.
    fills
        Whether what pairs are worth is to be counted.
    weights
        Of each subscriber; None where all weigh 1.
    """

    rates: Int64s
    first_run: Int32s
    run_broker: Int32s
    threshold: int | None
    fills: bool = False
    weights: Int64s | None = None


class BlockDigests(NamedTuple):
    interests: bytes
    subscribers: bytes
    placement: bytes


@dataclass(frozen=True, eq=False)
class ShareCount:
    """What shares come to, in which all is well: the pairs of each run, in few bytes
    each, how many pairs are wanted, the digests of blocks by their number, and for
    plans to fill the sums by topic."""

    pairs: npt.NDArray[np.unsignedinteger]
    wanted: int
    own_thresholds: bool
    digests: dict[int, BlockDigests]
    sums: TopicSums | None = None


def share_counted(
    workload: Place, plan: Place, share: Share, reference: Reference
) -> ShareCount | Deviation:
    """Check a share; a deviation is a result, for to try again would not help.

    Holds one block of each table and a few numbers for each topic and run.
    """
    try:
        return _counted(workload, plan, share, reference)
    except Deviation as deviation:
        return deviation
    except (InputError, pa.ArrowException, OSError) as cause:
        return Deviation(f"a file cannot be used: {cause}")


def merged(
    one: ShareCount | Deviation, other: ShareCount | Deviation
) -> ShareCount | Deviation:
    """Both together. Whatever the order, the same."""
    if isinstance(one, Deviation):
        return one
    if isinstance(other, Deviation):
        return other
    return ShareCount(
        _narrow(one.pairs.astype(np.int64) + other.pairs),
        one.wanted + other.wanted,
        one.own_thresholds or other.own_thresholds,
        one.digests | other.digests,
        _added(one.sums, other.sums),
    )


def _added(one: TopicSums | None, other: TopicSums | None) -> TopicSums | None:
    if one is None or other is None:
        return None
    return TopicSums(
        _narrow(one.followers.astype(np.int64) + other.followers),
        _narrow(one.wanted.astype(np.int64) + other.wanted),
        _narrow(one.served.astype(np.int64) + other.served),
    )


def _counted(
    workload: Place, plan: Place, share: Share, reference: Reference
) -> ShareCount:
    counts = np.zeros(len(reference.run_broker), np.int64)
    current = np.where(
        np.diff(reference.first_run) > 0, reference.first_run[:-1], np.int32(-1)
    )
    digests: dict[int, BlockDigests] = {}
    wanted, own = 0, False
    sums = np.zeros((3, len(reference.rates) if reference.fills else 0), np.int64)
    blocks = (block for part in share.parts for block in read_part(workload, part))
    # That none is missing shows in the numbers of the digests.
    for block, placed in zip(blocks, _placed(plan, share.groups), strict=False):
        if block.first != (share.first + len(digests)) * BLOCK:
            raise Deviation("the workload has other subscribers")
        _check_block(block, placed, reference)
        if not block_checks.runs_counted(
            placed.topics,
            placed.brokers,
            reference.first_run,
            reference.run_broker,
            current,
            counts,
        ):
            raise Deviation("a pair is where the assignment does not put it")
        if reference.fills:
            _weigh(block, placed, reference.weights, sums)
        digests[share.first + len(digests)] = _digests(block, placed)
        wanted += len(block.topics)
        own |= block.thresholds is not None
    found = TopicSums(*map(_narrow, sums)) if reference.fills else None
    return ShareCount(_narrow(counts), wanted, own, digests, found)


def _weigh(
    block: Block, placed: PlacementBlock, weights: Int64s | None, sums: Int64s
) -> None:
    """Add what a block has to the sums: followers, their weights, those served."""
    ones = np.ones(len(block.offsets) - 1, np.int64)
    own = ones if weights is None else weights[block.first :][: len(ones)]
    followers, wanted, served = sums
    block_checks.weights_added(block.offsets, block.topics, ones, followers)
    block_checks.weights_added(block.offsets, block.topics, own, wanted)
    block_checks.weights_added(placed.offsets, placed.topics, own, served)


def _check_block(block: Block, placed: PlacementBlock, reference: Reference) -> None:
    """Refuse pairs that nobody wants, and needs that are not met."""
    if block.first != placed.first or len(block.offsets) != len(placed.offsets):
        raise Deviation("placement and workload have other subscribers")
    offsets, wanted, ends, topics = (
        block.offsets,
        block.topics,
        placed.offsets,
        placed.topics,
    )
    rates = reference.rates
    if not block_checks.lists_ascend(offsets, wanted, len(rates)):
        raise Deviation("the workload has a list that does not ascend")
    if not block_checks.lists_within(ends, topics, offsets, wanted):
        raise Deviation("a pair is not wanted, or comes twice, or out of order")
    needs = _needs(block, reference.threshold)
    if needs is not None and not block_checks.thresholds_met(
        ends, topics, offsets, wanted, needs, rates
    ):
        raise Deviation("a subscriber receives less than its threshold")


def _needs(block: Block, threshold: int | None) -> Int64s | None:
    if threshold is None:
        return None
    common = np.full(len(block.names), threshold, np.int64)
    if block.thresholds is None:
        return common
    return np.where(block.thresholds >= 0, block.thresholds, common)


def _placed(plan: Place, groups: Sequence[Groups]) -> Iterator[PlacementBlock]:
    for part in groups:
        place = plan / "placement" / part.name
        with open_parquet(place) as parquet:
            for group in range(part.start, part.stop):
                yield _block(place, parquet.read_row_group(group))


def _block(place: Place, table: pa.Table) -> PlacementBlock:
    for name in PLACEMENT.names:
        refuse_missing_values(place, name, table[name])
    ids = table["subscriber"].to_numpy()
    offsets, topics = lists_of(table["topics"])
    ends, brokers = lists_of(table["brokers"])
    if not np.array_equal(offsets, ends):
        raise Deviation("lists of topics and brokers differ in length")
    first = int(ids[0]) if len(ids) else 0
    if not np.array_equal(ids, np.arange(first, first + len(ids))):
        raise Deviation("the placement's rows are not in order, or not complete")
    return PlacementBlock(first, offsets, topics, brokers)


def _digests(block: Block, placed: PlacementBlock) -> BlockDigests:
    return BlockDigests(
        block_digest(np.diff(block.offsets), block.topics),
        block_digest(block.names, block.thresholds, block.places),
        placed.digest(),
    )


def _narrow(counts: Int64s) -> npt.NDArray[np.unsignedinteger]:
    """The same numbers in as few bytes as the largest needs: they travel."""
    kind = np.min_scalar_type(int(counts.max(initial=0)))
    return counts.astype(kind)
