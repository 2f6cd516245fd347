"""The place pass: every selected pair gets its broker and is written.

What was selected is read back from scratch files. Pairs of whole topics need a look-up
only; those of topics that are cut need their rank, for which each group begins after
the counts of those before it.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from pyspark import Broadcast

from brokerwise.kernels.placing import Cursor, Homes, place_block
from brokerwise.kernels.selection import Rule, Topics
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.pipeline.attempts import attempt_name
from brokerwise.pipeline.provision.blocks import Source
from brokerwise.pipeline.provision.scan import (
    Counted,
    Group,
    Selected,
    SparkScan,
    select_group,
)
from brokerwise.pipeline.tasks import in_tasks
from brokerwise.planners.provision.draft import Draft
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlacementBlock, write_placement_part
from brokerwise.storage.scratch import Scratch


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
    parts = {}
    for written in scan.in_groups(task):
        for number, attempt, digests in written:
            name = output.part(number)
            output.keep(f"placement/{attempt}", f"placement/{name}")
            parts[name] = digests
    return parts


def _pairs_before(
    scan: SparkScan, files: Sequence[Counted], row: int, homes: Homes
) -> dict[int, Int64s]:
    """For each group the pairs of cut topics that the groups before it have."""
    if len(homes.cut) == 0:
        return {group.number: np.zeros(0, np.int64) for group in scan.groups}
    counts = in_tasks(
        scan.context, partial(_cut_counts, scan.scratch, homes.cut, row), files
    )
    before = np.cumsum(counts, axis=0) - counts
    return {g.number: before[i] for i, g in enumerate(scan.groups)}


def _cut_counts(scratch: Scratch, cut: Int32s, row: int, counted: Counted) -> Int64s:
    counts: Int64s = scratch.read(counted.file)[row][cut].astype(np.int64)
    return counts


def _place(
    source: Source,
    scratch: Scratch,
    topics: "Broadcast[Topics]",
    rule: "Broadcast[Rule]",
    homes: "Broadcast[Homes]",
    counted: Sequence[Counted],
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
