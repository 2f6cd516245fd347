"""A plan that was made before, read next to the workload as it is now.

Topics and subscribers are known by their names: numbers change when rates do. Both
workloads have their subscribers in order of names, so a block of one meets few blocks
of the other, and those are read when they are needed.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.kernels.keeping import FormerBlock, mark_block
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.planners.provision.layout import Former
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    PlanHeader,
    plan_table,
    read_plan_header,
)
from brokerwise.storage.subscribers import lists_of, open_parquet
from brokerwise.storage.tables import read_small_table
from brokerwise.storage.workload import WorkloadHeader, read_header, read_topics

HINT = "--from needs the workload that the plan was made from, as it was then."
# Blocks of the former plan that stay in memory: the next one asks for them again.
REMEMBERED = 2
_NAMELESS = re.compile(r"broker-\d+")


@dataclass(frozen=True)
class At:
    """Where a block is: files and row groups of its names and of its placement."""

    people: str
    people_group: int
    placement: str
    placement_group: int


@dataclass(frozen=True, eq=False)
class Placed:
    """A block of subscribers: their names, what they get, and from which brokers."""

    names: pa.Array
    offsets: Int64s
    topics: Int32s
    brokers: Int32s


@dataclass(frozen=True, eq=False)
class FormerPlan:
    """A former plan and its workload; O(topics + blocks).

    Attributes
    ----------
    blocks, first_names
        Where its blocks are, and the first name in each, in UTF-8.
    renumbered
        What each of its topics is called now, -1 if it is gone.
    topics
        How many there are now.
    brokers
        How many it had.
    """

    place: Place
    workload: Place
    blocks: tuple[At, ...]
    first_names: tuple[bytes, ...]
    renumbered: Int32s
    topics: int
    brokers: int


class Reader:
    """Says of pairs which broker served them before; for one pass over subscribers."""

    def __init__(self, former: FormerPlan) -> None:
        self._former = former
        self._read: dict[At, Placed] = {}

    def was(self, names: pa.Array, offsets: Int64s, lists: Int32s) -> Int32s:
        """The broker that served each pair of a block before, -1 if none did.

        Reads the blocks of the former plan that can have names between the first and
        the last of these.
        """
        former = self._former
        was = np.full(len(lists), -1, np.int32)
        if len(names) == 0:
            return was
        start = bisect_right(former.first_names, names[0].as_py().encode()) - 1
        end = bisect_right(former.first_names, names[-1].as_py().encode())
        for at in former.blocks[max(0, start) : end]:
            block = self._block(at)
            rows = pc.index_in(names, value_set=block.names.cast(names.type))
            mark_block(
                offsets,
                lists,
                rows.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64),
                FormerBlock(block.offsets, block.topics, block.brokers),
                former.renumbered,
                former.topics,
                was,
            )
        return was

    def _block(self, at: At) -> Placed:
        if at not in self._read:
            former = self._former
            block = read_block(former.workload, former.place, at)
            _check_range(former.place, "topics", block.topics, len(former.renumbered))
            _check_range(former.place, "brokers", block.brokers, former.brokers)
            while len(self._read) >= REMEMBERED:
                del self._read[next(iter(self._read))]
            self._read[at] = block
        return self._read[at]


def open_former(
    place: Place, workload: Place, header: WorkloadHeader, fleet: Fleet
) -> tuple[PlanHeader, FormerPlan, Former]:
    """The plan at `place`: its header, what it takes to read it, and its runs in
    terms of the present workload.

    Raises InputError unless it is a plan of this kind whose workload is still there
    and unchanged. Reads tables by topic and by broker, and the first name of each
    block of subscribers.
    """
    plan = read_plan_header(place)
    if plan.kind != "provision" or plan.status in WITHOUT_PLAN:
        raise InputError(
            f"{place} is a plan of kind {plan.kind} that is {plan.status}: there is "
            "nothing to start from",
            hint="--from takes a plan that brokerwise provision has written.",
        )
    source, before = _workload_of(place, plan)
    renumbered = _renumbered(source, before, workload, header)
    brokers = read_small_table(plan_table(place, plan, "brokers"))
    kinds = _kinds(brokers["type"].to_pylist(), fleet)
    blocks = blocks_of(source, before, place, plan)
    former = FormerPlan(
        place.absolute(),
        source.absolute(),
        tuple(blocks),
        tuple(_first_name(source, at) for at in blocks),
        renumbered,
        header.topics,
        len(kinds),
    )
    return plan, former, _runs(place, plan, renumbered, np.array(kinds, np.int32))


def blocks_of(
    workload: Place, header: WorkloadHeader, place: Place, plan: PlanHeader
) -> list[At]:
    """Where the blocks of a plan, with their names in the workload, are."""
    people = _row_groups(workload / "subscribers", header.files["subscribers"])
    lists = _row_groups(place / "placement", plan.files["placement"])
    if len(people) != len(lists):
        raise InputError(
            f"{place}: its placement has {len(lists):,} blocks of subscribers, the "
            f"workload {workload} has {len(people):,}"
        )
    return [At(*name, *part) for name, part in zip(people, lists, strict=True)]


def read_names(workload: Place, part: str, group: int) -> pa.Array:
    """The names of a block of subscribers."""
    with open_parquet(workload / "subscribers" / part) as parquet:
        table = parquet.read_row_group(group, columns=["name"])
    return table["name"].combine_chunks()


def read_block(workload: Place, place: Place, at: At) -> Placed:
    """A block of a plan, with names from its workload."""
    names = read_names(workload, at.people, at.people_group)
    file = place / "placement" / at.placement
    with open_parquet(file) as parquet:
        columns = ["topics", "brokers"]
        table = parquet.read_row_group(at.placement_group, columns=columns)
    ends, topics = lists_of(table["topics"])
    others, brokers = lists_of(table["brokers"])
    if len(ends) != len(names) + 1 or not np.array_equal(ends, others):
        raise InputError(
            f"{file}: its lists do not match the subscribers of {workload}; "
            "find out why with brokerwise audit"
        )
    return Placed(names, ends, topics, brokers)


def _workload_of(place: Place, plan: PlanHeader) -> tuple[Place, WorkloadHeader]:
    source = Place(plan.workload["path"])
    try:
        before = read_header(source)
    except InputError as cause:
        raise InputError(
            f"{place} was made from {source}, which cannot be read: {cause.message}",
            hint=HINT,
        ) from cause
    if before.digest != plan.workload["digest"]:
        raise InputError(
            f"{place} was made from {source}, which has changed since: it has digest "
            f"{before.digest[:12]}, expected {plan.workload['digest'][:12]}",
            hint=HINT,
        )
    return source, before


def _renumbered(
    source: Place, before: WorkloadHeader, workload: Place, now: WorkloadHeader
) -> Int32s:
    _, old = read_topics(source, before)
    _, new = read_topics(workload, now)
    names = new.to_arrow()
    found = pc.index_in(old.to_arrow().cast(names.type), value_set=names)
    numbers = found.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, np.int32)


def _kinds(names: list[str], fleet: Fleet) -> list[int]:
    """The types of brokers in the present fleet, by name; -1 for those it has not.

    A type that is called for its capacity alone is the same if that has changed.
    """
    now = {t.name: number for number, t in enumerate(fleet)}
    nameless = [number for name, number in now.items() if _NAMELESS.fullmatch(name)]
    before = {name for name in names if _NAMELESS.fullmatch(name)}
    if len(nameless) == len(before) == 1:
        now |= dict.fromkeys(before, nameless[0])
    return [now.get(name, -1) for name in names]


def _runs(place: Place, plan: PlanHeader, renumbered: Int32s, kinds: Int32s) -> Former:
    runs = read_small_table(plan_table(place, plan, "assignment"))
    topic, broker = runs["topic"].to_numpy(), runs["broker"].to_numpy()
    _check_range(place, "topics", topic, len(renumbered))
    _check_range(place, "brokers", broker, len(kinds))
    now = renumbered[topic]
    there = np.flatnonzero(now >= 0)
    order = there[np.argsort(now[there], kind="stable")]
    pairs = int(runs["pairs"].to_numpy().sum())
    return Former(now[order], broker[order].astype(np.int32), kinds, pairs)


def _row_groups(folder: Place, parts: Sequence[str]) -> list[tuple[str, int]]:
    groups = []
    for name in parts:
        with open_parquet(folder / name) as parquet:
            groups += [(name, group) for group in range(parquet.num_row_groups)]
    return groups


def _first_name(workload: Place, at: At) -> bytes:
    """Read without the rest of the block."""
    with open_parquet(workload / "subscribers" / at.people) as parquet:
        rows = parquet.iter_batches(1, row_groups=[at.people_group], columns=["name"])
        return bytes(next(rows)["name"][0].as_py().encode())


def _check_range(place: Place, what: str, values: Int32s, limit: int) -> None:
    if len(values) and not 0 <= values.min() <= values.max() < limit:
        raise InputError(
            f"{place}: found {what} {values.min():,} to {values.max():,}, expected "
            f"0 to {limit - 1:,}; find out more with brokerwise audit"
        )
