"""Passes that choose what is served with regard to a former plan, and compare the
two; block by block, in this process or in tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from brokerwise.kernels.keeping import KeptPairs, Tally, keep_block, narrowed
from brokerwise.kernels.placing import Cursor, Homes, place_block
from brokerwise.kernels.selection import Rule, Topics
from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.pipeline.provision.blocks import Source, Wanting
from brokerwise.pipeline.provision.former import (
    At,
    FormerPlan,
    Reader,
    read_block,
    read_names,
)
from brokerwise.planners.provision.replan import Standstill
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlacementBlock, write_placement_part
from brokerwise.storage.scratch import Scratch

if TYPE_CHECKING:
    from brokerwise.pipeline.provision.scan import Group, SparkScan

T_co = TypeVar("T_co", covariant=True)


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

    def blocks(self, name: str) -> Iterator[Wanting]:
        for block, was, kept in self.kept_blocks(name):
            offsets, topics, _ = narrowed(block.offsets, block.topics, was, kept.held)
            everything = np.full(len(block.needs), INT64_MAX, np.int64)
            yield Wanting(block.first, offsets, topics, everything)

    def kept_blocks(self, name: str) -> Iterator[tuple[Wanting, Int32s, KeptPairs]]:
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
        was = reader.was(block.names, block.offsets, block.topics)
        served = was >= 0
        same = int(np.count_nonzero(served & (brokers_from[block.brokers] == was)))
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
    parts = {}
    for written in scan.in_groups(task):
        for part, attempt, digests in written:
            name = output.part(part)
            output.keep(f"placement/{attempt}", f"placement/{name}")
            parts[name] = digests
    return parts


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
    from brokerwise.pipeline.attempts import attempt_name

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
    from brokerwise.pipeline.attempts import attempt_name

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
