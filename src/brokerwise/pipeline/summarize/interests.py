"""From subscriptions to the sub-channels that each user wants."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.deliveries import Coverage
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import Wanted
from brokerwise.model.subchannels import Subchannels
from brokerwise.pipeline.network_content import offsets_of

MOST_TOUCHED = 10**8
"""Sub-channels that ranges touch, all together: each takes some fifty bytes."""


@dataclass(frozen=True, eq=False)
class Interests:
    """Which sub-channels users want, and how far their subscriptions cover these."""

    wanted: Wanted
    coverage: Coverage


def find_interests(
    subchannels: Subchannels, users: int, owner: Int32s, low: Float64s, high: Float64s
) -> Interests:
    """The sub-channels that boxes, within the space, touch. O(boxes * sub-channels
    that each touches), in memory."""
    cells = len(subchannels)
    box, subchannel, whole = _touched(subchannels, low, high)
    key = owner[box].astype(np.int64) * cells + subchannel
    order = np.argsort(key, kind="stable")
    key, box, whole = key[order], box[order], whole[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    covered = (
        np.logical_or.reduceat(whole, starts) if len(starts) else np.zeros(0, np.bool_)
    )
    user, wanted = np.divmod(key[starts], cells)
    partly = ~np.repeat(covered, np.diff(np.append(starts, len(key))))
    entries, boxes = key[partly], box[partly]
    by_cell = np.argsort(entries % cells, kind="stable")
    return Interests(
        Wanted(offsets_of(np.bincount(user, minlength=users)), wanted.astype(np.int32)),
        Coverage(
            covered,
            np.bincount(wanted, minlength=cells),
            np.bincount(wanted[covered], minlength=cells),
            offsets_of(np.bincount(entries % cells, minlength=cells)),
            (entries // cells)[by_cell].astype(np.int32),
            boxes[by_cell].astype(np.int32),
            low,
            high,
        ),
    )


def _touched(
    subchannels: Subchannels, low: Float64s, high: Float64s
) -> tuple[Int64s, Int64s, Bools]:
    """Each box with each sub-channel that it has a point in, and whether it holds all
    of it."""
    axes = subchannels.axes
    first = np.column_stack([a.intervals_of(low[:, k]) for k, a in enumerate(axes)])
    last = np.column_stack([a.intervals_of(high[:, k]) for k, a in enumerate(axes)])
    sides = (last - first + 1).astype(np.int64)
    total = sides.prod(axis=1).sum()
    if total > MOST_TOUCHED:
        raise InputError(
            f"subscriptions touch {total:,} sub-channels in all, expected at most "
            f"{MOST_TOUCHED:,}",
            hint="Cut the space into fewer --subchannels.",
        )
    offsets = offsets_of(sides.prod(axis=1))
    box = np.repeat(np.arange(len(low)), np.diff(offsets))
    within = np.arange(offsets[-1]) - offsets[box]
    found = np.zeros(len(box), np.int64)
    whole = np.ones(len(box), np.bool_)
    stride = 1
    for number in reversed(range(len(axes))):
        axis, edges = axes[number], np.asarray(axes[number].edges)
        within, along = np.divmod(within, sides[box, number])
        interval = first[box, number] + along
        whole &= low[box, number] <= edges[interval]
        whole &= high[box, number] >= edges[interval + 1]
        found += interval * stride
        stride *= axis.intervals
    return box, found, whole
