"""Passes over a workload directory as Spark tasks.

A task is handed a group of consecutive parts and reads them with pyarrow, block by
block, through the same kernels as in memory. What it counts by topic goes to a
scratch file; no pair is moved, and the driver holds numbers by topic only.

The last pass gives every selected pair its broker and writes it. What was selected is
read back from scratch files. Pairs of whole topics need a look-up only; those of topics
that are cut need their rank, for which each group begins after the counts of those
before it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import fsum
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import SparkSession

from brokerwise.kernels.ascent import ascend_block
from brokerwise.kernels.placing import Cursor, Homes, place_block
from brokerwise.kernels.selection import (
    Rule,
    Survey,
    Topics,
    Weights,
    select_block,
    survey_block,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.pipeline.profile import read_rates
from brokerwise.pipeline.provision.blocks import (
    Source,
    WantedBlock,
    has_thresholds,
    keep_parts,
)
from brokerwise.pipeline.tasks import attempt_name, in_tasks, shared, shares
from brokerwise.planners.provision.draft import Draft
from brokerwise.storage.output import Output, Scratch
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlacementBlock, write_placement_part
from brokerwise.storage.subscribers import read_part
from brokerwise.storage.tables import open_parquet
from brokerwise.storage.workload import WorkloadHeader, read_topics

T = TypeVar("T")
# Groups of parts to a share of the pairs: some are done sooner than others.
GROUPS_A_SHARE = 2
# Files of counts that one process adds up; more are first added by tasks.
FAN_IN = 16


@dataclass(frozen=True)
class Group:
    """Consecutive parts, each with its number: what a task goes through in order."""

    number: int
    parts: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class CountFile:
    """What a task has counted by topic: the rows of an array in a scratch file.

    `lists` is a file with what it has selected, if it has written that down.
    """

    file: str
    lists: str = ""


class SparkScan:
    """Passes over a workload directory; a context manager that frees what it shared."""

    def __init__(
        self,
        spark: SparkSession,
        place: Place,
        header: WorkloadHeader,
        threshold: int,
        scratch: Scratch,
    ) -> None:
        parts = header.files["interests"]
        self.context = spark.sparkContext
        self.scratch = scratch
        many = shares(self.context, header.pairs, header.topics)
        self.groups = _grouped(parts, GROUPS_A_SHARE * many)
        self.source = Source(
            place.absolute(), threshold, has_thresholds(place, parts), header.topics
        )
        self._header = header
        self.rates, self.pairs = read_rates(place, header), header.pairs
        self.subscribers = header.subscribers
        self.period_seconds = header.period_seconds
        self.message_bytes = header.message_bytes
        self._stack = ExitStack()
        self._shared: list[tuple[object, Broadcast[Any]]] = []
        self._counted: list[tuple[int, Rule, list[CountFile], int]] = []
        self._ascent: list[str] = []

    def __enter__(self) -> "SparkScan":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def survey(self, topics: Topics) -> Survey:
        task = partial(_survey, self.source, self.scratch, self.share(topics))
        done = self.in_groups(task)
        files = [counted for counted, _ in done]
        followers, counts, forced = self._added(files, 3, len(topics.rates))
        self._counted.append((topics.low, Rule("exact"), files, 1))
        total = Survey(followers, counts, forced)
        none = np.zeros(len(topics.rates), np.int64)
        for _, part in done:
            total.add(replace(part, followers=none, counts=none, forced=none))
        return total

    def count(self, topics: Topics, rule: Rule) -> Int64s:
        task = partial(
            _count, self.source, self.scratch, self.share(topics), self.share(rule)
        )
        files = self.in_groups(task)
        self._counted.append((topics.low, rule, files, 0))
        return self._added(files, 1, len(topics.rates))[0]

    def counted(self, topics: Topics, rule: Rule) -> tuple[list[CountFile], int]:
        """What each group has counted by a rule, and the row that it has in files."""
        for low, known, files, row in self._counted:
            same = known is rule or known.name == rule.name == "exact"
            if same and low == topics.low:
                return files, row
        raise LookupError(f"nothing was counted by this {rule.name} rule")

    def lists(self, topics: Topics, rule: Rule) -> Iterator[tuple[Int64s, Int32s]]:
        """One process reads everything, in order: for `first-fit` alone."""
        counts = np.zeros(len(topics.rates), np.int64)
        for group in self.groups:
            for block in _blocks(self.source, group):
                yield _select(rule, topics, block, counts)

    def ascend(
        self, topics: Topics, weights: Weights, *, first: bool
    ) -> tuple[float, Int64s]:
        left = [] if first else self._ascent
        before = dict(zip((g.number for g in self.groups), left, strict=False))
        with shared(self.context, weights) as broadcast:
            task = partial(
                _ascend,
                self.source,
                self.scratch,
                self.share(topics),
                broadcast,
                before,
            )
            done = self.in_groups(task)
        for name in self._ascent:
            self.scratch.delete(name)
        self._ascent = [shares for shares, _, _ in done]
        sums = self._added([c for _, c, _ in done], 1, len(topics.rates))[0]
        return fsum(value for _, _, values in done for value in values), sums

    def wanted(self, subscriber: int) -> tuple[int, Int32s]:
        name = self._part_of(subscriber)
        for block in self.source.blocks(name):
            row = subscriber - block.first
            if 0 <= row < len(block.needs):
                start, end = block.offsets[row : row + 2]
                return int(block.needs[row]), block.topics[start:end]
        raise LookupError(subscriber)

    def topic_name(self, topic: int) -> str:
        return read_topics(self.source.root, self._header)[1][topic]

    def subscriber_name(self, subscriber: int) -> str:
        for block in read_part(self.source.root, self._part_of(subscriber)):
            if 0 <= subscriber - block.first < len(block.names):
                return block.names[subscriber - block.first]
        raise LookupError(subscriber)

    def in_groups(self, task: Callable[[Group], T]) -> list[T]:
        return in_tasks(self.context, task, self.groups)

    def share(self, value: T) -> "Broadcast[T]":
        """Sent to the workers once, and freed with the scan."""
        for known, broadcast in self._shared:
            if known is value:
                return broadcast
        broadcast = self._stack.enter_context(shared(self.context, value))
        self._shared.append((value, broadcast))
        return broadcast

    def _added(
        self, files: Sequence[CountFile], rows: int, topics: int
    ) -> list[Int64s]:
        """The sum of counts that tasks have left, by topic."""
        while len(files) > FAN_IN:
            bundles = [files[i : i + FAN_IN] for i in range(0, len(files), FAN_IN)]
            numbered = list(enumerate(bundles))
            files = in_tasks(self.context, partial(_add, self.scratch), numbered)
        if not files:
            return list(np.zeros((rows, topics), np.int64))
        return list(_sum(self.scratch, files))

    def _part_of(self, subscriber: int) -> str:
        for group in self.groups:
            for _, name in group.parts:
                with open_parquet(self.source.root / "interests" / name) as lists:
                    last = lists.metadata.row_group(lists.num_row_groups - 1)
                    if subscriber <= last.column(0).statistics.max:
                        return name
        raise LookupError(subscriber)


Selected = tuple[int, Int64s, Int32s]
"""The first subscriber of a block, and offsets and topics of what is selected."""


def select_group(
    source: Source,
    scratch: Scratch,
    topics: Topics,
    rule: Rule,
    group: Group,
    counted: CountFile,
) -> Iterator[tuple[int, Iterator[Selected]]]:
    """The number of each part of a group, and its blocks as a rule selects from them:
    read back if they were written down, else selected again.

    Parts and their blocks must be gone through in order.
    """
    with ExitStack() as stack:
        reader = None
        if counted.lists:
            reader = stack.enter_context(scratch.reader(counted.lists))
        for number, name in group.parts:
            if reader is None:
                yield number, _selected_again(source, topics, rule, name)
            else:
                yield number, _read_lists(reader, source.blocks_in(name))


def _selected_again(
    source: Source, topics: Topics, rule: Rule, name: str
) -> Iterator[Selected]:
    counts = np.zeros(len(topics.rates), np.int64)
    for block in source.blocks(name):
        yield block.first, *_select(rule, topics, block, counts)


def _write_lists(
    writer: pa.NativeFile, first: int, offsets: Int64s, topics: Int32s
) -> None:
    writer.write(np.array([first, len(offsets), len(topics)], np.int64))
    writer.write(offsets)
    writer.write(topics)


def _read_lists(reader: pa.NativeFile, blocks: int) -> Iterator[Selected]:
    for _ in range(blocks):
        head = np.frombuffer(reader.read(24), np.int64)
        first, ends, pairs = map(int, head)
        offsets = np.frombuffer(reader.read(8 * ends), np.int64)
        yield first, offsets, np.frombuffer(reader.read(4 * pairs), np.int32)


def _survey(
    source: Source, scratch: Scratch, topics: "Broadcast[Topics]", group: Group
) -> tuple[CountFile, Survey]:
    survey = Survey.empty(len(topics.value.rates))
    for block in _blocks(source, group):
        survey_block(
            topics.value, block.first, block.offsets, block.topics, block.needs, survey
        )
    arrays = np.stack([survey.followers, survey.counts, survey.forced])
    none = np.zeros(0, np.int64)
    figures = replace(survey, followers=none, counts=none, forced=none)
    return _left(scratch, group.number, arrays), figures


def _count(
    source: Source,
    scratch: Scratch,
    topics: "Broadcast[Topics]",
    rule: "Broadcast[Rule]",
    group: Group,
) -> CountFile:
    """Count what a rule selects, and write it down: most likely it will be placed."""
    name = attempt_name(scratch.run, group.number, ".lists")
    counts = np.zeros(len(topics.value.rates), np.int64)
    with scratch.writer(name) as writer:
        for block in _blocks(source, group):
            chosen = _select(rule.value, topics.value, block, counts)
            _write_lists(writer, block.first, *chosen)
    return replace(_left(scratch, group.number, counts[np.newaxis]), lists=name)


def _ascend(
    source: Source,
    scratch: Scratch,
    topics: "Broadcast[Topics]",
    weights: "Broadcast[Weights]",
    before: dict[int, str],
    group: Group,
) -> tuple[str, CountFile, list[float]]:
    """A round of ascent; the shares of before are read as the blocks are."""
    name = attempt_name(scratch.run, group.number, ".shares")
    sums = np.zeros(len(topics.value.rates), np.int64)
    values = []
    with ExitStack() as stack:
        writer = stack.enter_context(scratch.writer(name))
        reader = None
        if group.number in before:
            reader = stack.enter_context(scratch.reader(before[group.number]))
        for block in _blocks(source, group):
            least, shares = _state(reader, len(block.needs), len(block.topics))
            values.append(
                ascend_block(
                    topics.value,
                    block.offsets,
                    block.topics,
                    block.needs,
                    weights.value,
                    least,
                    shares,
                    sums,
                )
            )
            writer.write(least)
            writer.write(shares)
    return name, _left(scratch, group.number, sums[np.newaxis]), values


def _state(
    reader: pa.NativeFile | None, subscribers: int, pairs: int
) -> tuple[Int64s, npt.NDArray[np.uint32]]:
    """What a round before has left of a block, or how the first begins."""
    if reader is None:
        least = np.full(subscribers, -1, np.int64)
        return least, np.zeros(pairs, np.uint32)
    least = np.frombuffer(bytearray(reader.read(8 * subscribers)), np.int64)
    return least, np.frombuffer(bytearray(reader.read(4 * pairs)), np.uint32)


def _select(
    rule: Rule, topics: Topics, block: WantedBlock, counts: Int64s
) -> tuple[Int64s, Int32s]:
    return select_block(
        rule, topics, block.first, block.offsets, block.topics, block.needs, counts
    )


def _blocks(source: Source, group: Group) -> Iterator[WantedBlock]:
    for _, name in group.parts:
        yield from source.blocks(name)


def _left(scratch: Scratch, number: int, arrays: Int64s) -> CountFile:
    """Counts of a group, in half the space where they fit."""
    narrow = arrays.max(initial=0) < 2**31
    name = attempt_name(scratch.run, number, ".npy")
    scratch.write(name, arrays.astype(np.int32) if narrow else arrays)
    return CountFile(name)


def _add(scratch: Scratch, bundle: tuple[int, Sequence[CountFile]]) -> CountFile:
    number, files = bundle
    return _left(scratch, number, _sum(scratch, files))


def _sum(scratch: Scratch, files: Sequence[CountFile]) -> Int64s:
    total: Int64s = scratch.read(files[0].file).astype(np.int64)
    for counted in files[1:]:
        total += scratch.read(counted.file)
    return total


def _grouped(parts: Sequence[str], groups: int) -> list[Group]:
    """Consecutive parts in so many groups, as even as they can be."""
    numbered = list(enumerate(parts))
    cuts = np.linspace(0, len(parts), min(groups, len(parts)) + 1).astype(int)
    return [
        Group(number, tuple(numbered[start:end]))
        for number, (start, end) in enumerate(pairwise(cuts))
    ]


def write_placement(
    scan: SparkScan, draft: Draft, output: Output
) -> dict[str, list[bytes]]:
    """Write the placement of a draft; the digests of each part's blocks, by name."""
    assert draft.packing is not None
    homes = Homes.of(draft.packing.placement, len(scan.rates))
    (output.root / "placement").make()
    files, row = scan.counted(draft.topics, draft.choice.rule)
    task = partial(
        _place,
        scan.source,
        scan.scratch,
        scan.share(draft.topics),
        scan.share(draft.choice.rule),
        scan.share(homes),
        files,
        _pairs_before(scan, files, row, homes),
        output.attempts("placement"),
        output.run,
    )
    return keep_parts(output, scan.in_groups(task))


def _pairs_before(
    scan: SparkScan, files: Sequence[CountFile], row: int, homes: Homes
) -> dict[int, Int64s]:
    """For each group the pairs of cut topics that the groups before it have."""
    if len(homes.cut) == 0:
        return {group.number: np.zeros(0, np.int64) for group in scan.groups}
    counts = in_tasks(
        scan.context, partial(_cut_counts, scan.scratch, homes.cut, row), files
    )
    before = np.cumsum(counts, axis=0) - counts
    return {g.number: before[i] for i, g in enumerate(scan.groups)}


def _cut_counts(scratch: Scratch, cut: Int32s, row: int, counted: CountFile) -> Int64s:
    counts: Int64s = scratch.read(counted.file)[row][cut].astype(np.int64)
    return counts


def _place(
    source: Source,
    scratch: Scratch,
    topics: "Broadcast[Topics]",
    rule: "Broadcast[Rule]",
    homes: "Broadcast[Homes]",
    counted: Sequence[CountFile],
    before: dict[int, Int64s],
    attempts: Place,
    run: str,
    group: Group,
) -> list[tuple[int, str, list[bytes]]]:
    """Write the parts of a group; each with its number, its file and its digests."""
    cursor = Cursor.after(homes.value, before[group.number])
    written = []
    parts = select_group(
        source, scratch, topics.value, rule.value, group, counted[group.number]
    )
    for number, blocks in parts:
        name = attempt_name(run, number)
        placed = _placed(homes.value, cursor, blocks)
        written.append((number, name, write_placement_part(attempts, name, placed)))
    return written


def _placed(
    homes: Homes, cursor: Cursor, blocks: Iterator[Selected]
) -> Iterator[PlacementBlock]:
    for first, offsets, topics in blocks:
        yield PlacementBlock(first, offsets, topics, place_block(homes, cursor, topics))
