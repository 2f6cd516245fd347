"""A plan that was made before, next to the workload as it is now: what of it is kept.

Topics and subscribers are known by their names: numbers change when rates do. Both
workloads have their subscribers in order of names, so a block of one meets few blocks
of the other, and those are read when they are needed. The passes that choose what is
served, and compare the two plans, go block by block, in this process or in tasks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.kernels.keeping import (
    FormerBlock,
    KeptPairs,
    Tally,
    keep_block,
    mark_block,
    narrowed,
)
from brokerwise.kernels.placing import Cursor, Homes, place_block
from brokerwise.kernels.selection import Rule, Topics
from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.pipeline.provision.blocks import Source, WantedBlock, keep_parts
from brokerwise.planners.provision.layout import Former
from brokerwise.planners.provision.replan import Standstill
from brokerwise.storage.output import Output, Scratch
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    PlacementBlock,
    PlanHeader,
    plan_table,
    read_plan_header,
    write_placement_part,
)
from brokerwise.storage.tables import lists_of, open_parquet, read_small_table
from brokerwise.storage.workload import WorkloadHeader, read_header, read_topics

if TYPE_CHECKING:
    from brokerwise.pipeline.provision.scan import Group, SparkScan

HINT = "--from needs the workload that the plan was made from, as it was then."
# Blocks of the former plan that stay in memory: the next one asks for them again.
REMEMBERED = 2
_NAMELESS = re.compile(r"broker-\d+")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class At:
    """Where a block is: files and row groups of its names and of its placement."""

    people: str
    people_group: int
    placement: str
    placement_group: int


@dataclass(frozen=True, eq=False)
class NamedBlock:
    """A block of subscribers: their names, and what they got."""

    names: pa.Array
    served: FormerBlock


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
        self._read: dict[At, NamedBlock] = {}

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
                block.served,
                former.renumbered,
                former.topics,
                was,
            )
        return was

    def _block(self, at: At) -> NamedBlock:
        if at not in self._read:
            former = self._former
            block = read_block(former.workload, former.place, at)
            _check_range(
                former.place, "topics", block.served.topics, len(former.renumbered)
            )
            _check_range(former.place, "brokers", block.served.brokers, former.brokers)
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


def read_block(workload: Place, place: Place, at: At) -> NamedBlock:
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
    return NamedBlock(names, FormerBlock(ends, topics, brokers))


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


class Shared(Protocol[T_co]):
    """Something that tasks are not sent one by one, such as a broadcast."""

    @property
    def value(self) -> T_co: ...


@dataclass(frozen=True)
class Own(Generic[T_co]):
    """What is used in this process only."""

    value: T_co


@dataclass(frozen=True, eq=False)
class Rules:
    """How to choose: topics and rule of a new choice, and what was served before."""

    topics: Topics
    rule: Rule
    former: FormerPlan


@dataclass(frozen=True, eq=False)
class Runs:
    """Former runs: the first of each topic, and the broker of each."""

    starts: Int64s
    broker: Int32s


@dataclass(frozen=True)
class Keeping(Source):
    """A workload narrowed to what is served with regard to a former plan.

    To whoever reads its blocks, these are all that subscribers want, and all of it
    they need: any selection takes everything.
    """

    rules: Shared[Rules]

    def blocks(self, name: str) -> Iterator[WantedBlock]:
        for block, was, kept in self.kept_blocks(name):
            offsets, topics, _ = narrowed(block.offsets, block.topics, was, kept.held)
            everything = np.full(len(block.needs), INT64_MAX, np.int64)
            yield WantedBlock(block.first, offsets, topics, everything)

    def kept_blocks(self, name: str) -> Iterator[tuple[WantedBlock, Int32s, KeptPairs]]:
        """Blocks as they are wanted, who served them before, and what is chosen."""
        rules = self.rules.value
        reader = Reader(rules.former)
        for group, block in enumerate(super().blocks(name)):
            names = read_names(self.root, name, group)
            was = reader.was(names, block.offsets, block.topics)
            kept = keep_block(
                rules.rule,
                rules.topics,
                block.first,
                block.offsets,
                block.topics,
                block.needs,
                was,
            )
            yield block, was, kept


def tallied(
    source: Keeping, runs: Shared[Runs], parts: Sequence[str]
) -> tuple[Tally, Tally]:
    """Tallies of parts that follow one another: with regard to the former plan, and
    of the new choice."""
    starts, broker = runs.value.starts, runs.value.broker
    topics = len(starts) - 1
    held, fresh = (Tally.empty(topics, len(broker)) for _ in range(2))
    for name in parts:
        for block, was, kept in source.kept_blocks(name):
            for tally, flags in ((held, kept.held), (fresh, kept.fresh)):
                _, lists, before = narrowed(block.offsets, block.topics, was, flags)
                if not tally.add_block(starts, broker, lists, before):
                    raise InputError(
                        f"{source.rules.value.former.place}: the placement puts pairs "
                        "on other brokers than the assignment says; find out which "
                        "with brokerwise audit"
                    )
    return held, fresh


@dataclass(frozen=True)
class Changes:
    """Pairs that are served before and now, on the same broker (`kept`) or another
    (`moves`), and those that are served only now (`added`)."""

    kept: int = 0
    moves: int = 0
    added: int = 0

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(
            self.kept + other.kept,
            self.moves + other.moves,
            self.added + other.added,
        )


def changes(
    rules: Shared[Rules],
    workload: Place,
    place: Place,
    brokers_from: Int32s,
    blocks: Sequence[At],
) -> Changes:
    """Compare blocks of a plan that is written with the former plan, by names.

    `brokers_from` is the former number of each of its brokers.
    """
    reader = Reader(rules.value.former)
    total = Changes()
    for at in blocks:
        block = read_block(workload, place, at)
        was = reader.was(block.names, block.served.offsets, block.served.topics)
        served = was >= 0
        same = int(
            np.count_nonzero(served & (brokers_from[block.served.brokers] == was))
        )
        both = int(np.count_nonzero(served))
        total += Changes(same, both - same, len(was) - both)
    return total


def stayed(
    source: Keeping, parts: Sequence[str], number: Int32s, homes: Homes, cursor: Cursor
) -> Iterator[PlacementBlock]:
    """Where everything that is served goes if nothing moves.

    `number` is what each former broker is called now; what was not served before goes
    to `homes`, of which the cursor says how many such pairs were there before.
    """
    for name in parts:
        for block, was, kept in source.kept_blocks(name):
            offsets, topics, was = narrowed(block.offsets, block.topics, was, kept.held)
            brokers = np.where(was >= 0, number[was], np.int32(-1))
            brokers[was < 0] = place_block(homes, cursor, topics[was < 0])
            yield PlacementBlock(block.first, offsets, topics, brokers)


def write_stayed(
    scan: "SparkScan", source: Keeping, found: Standstill, output: Output
) -> dict[str, list[bytes]]:
    """Write that placement in tasks; the digests of each part's blocks, by name."""
    attempts = output.attempts("placement")
    homes = scan.share(Homes.of(found.added, len(scan.rates)))
    counts = scan.in_groups(partial(_new_of_cut, source, homes))
    before = np.cumsum(counts, axis=0) - counts
    starts = {group.number: before[i] for i, group in enumerate(scan.groups)}
    number = scan.share(found.number)
    task = partial(_stay_group, source, homes, number, starts, attempts, output.run)
    return keep_parts(output, scan.in_groups(task))


def _new_of_cut(source: Keeping, homes: Shared[Homes], group: "Group") -> Int64s:
    """The new pairs of each topic whose new pairs go to several brokers."""
    counts = np.zeros(source.topics, np.int64)
    for _, name in group.parts:
        for block, was, kept in source.kept_blocks(name):
            new = block.topics[kept.held & (was < 0)]
            counts += np.bincount(new, minlength=source.topics)
    return counts[homes.value.cut]


def _stay_group(
    source: Keeping,
    homes: Shared[Homes],
    number: Shared[Int32s],
    before: dict[int, Int64s],
    attempts: Place,
    run: str,
    group: "Group",
) -> list[tuple[int, str, list[bytes]]]:
    from brokerwise.pipeline.tasks import attempt_name

    cursor, written = Cursor.after(homes.value, before[group.number]), []
    for part, name in group.parts:
        blocks = stayed(source, [name], number.value, homes.value, cursor)
        attempt = attempt_name(run, part, ".parquet")
        digests = write_placement_part(attempts, attempt, blocks)
        written.append((part, attempt, digests))
    return written


def served(source: Keeping, parts: Sequence[str]) -> Interests:
    """All that is served, in this process."""
    lengths, topics = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for name in parts:
        for block in source.blocks(name):
            lengths.append(np.diff(block.offsets))
            topics.append(block.topics)
    return Interests(np.cumsum(np.concatenate(lengths)), np.concatenate(topics))


def tallied_in_tasks(
    scan: "SparkScan", source: Keeping, runs: Shared[Runs], topics: int
) -> tuple[Tally, Tally]:
    """Tallies by topic go through files, as they may be large."""
    held, fresh = (Tally.empty(topics, len(runs.value.broker)) for _ in range(2))
    task = partial(_tally_group, source, runs, scan.scratch)
    for names in scan.in_groups(task):
        for tally, name in zip((held, fresh), names, strict=True):
            rows = scan.scratch.read(name).astype(np.int64)
            tally.add(_unfolded(rows, topics))
    return held, fresh


def _tally_group(
    source: Keeping, runs: Shared[Runs], scratch: Scratch, group: "Group"
) -> tuple[str, str]:
    from brokerwise.pipeline.tasks import attempt_name

    def left(tally: Tally, ending: str) -> str:
        name = attempt_name(scratch.run, group.number, ending)
        scratch.write(name, np.concatenate(list(_rows(tally))))
        return name

    held, fresh = tallied(source, runs, [name for _, name in group.parts])
    return left(held, ".held.npy"), left(fresh, ".fresh.npy")


def _rows(tally: Tally) -> Iterator[Int64s]:
    yield from (tally.counts, tally.leading, tally.last, tally.size, tally.kept)


def _unfolded(rows: Int64s, topics: int) -> Tally:
    by_topic, by_run = rows[: 3 * topics], rows[3 * topics :]
    counts, leading, last = by_topic.reshape(3, topics)
    size, kept = by_run.reshape(2, -1)
    return Tally(counts, size, kept, leading, last)
