"""Subscriptions, ranges of attributes, and the sub-channels that each user wants."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.deliveries import Coverage
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import Wanted
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.pipeline.ingest.columns import Reading, column_names
from brokerwise.pipeline.ingest.rejects import place_of, refuse_bad
from brokerwise.pipeline.ingest.rows import Rows, read_rows
from brokerwise.pipeline.ingest.sources import Kind, Source, find_sources, split_sources
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.networks.files import Members
from brokerwise.pipeline.networks.generate import offsets_of

_OPTION = "--subscriptions"
_LOW, _HIGH = "_low", "_high"
MOST_TOUCHED = 10**8
"""Sub-channels that ranges touch, all together: each takes some fifty bytes."""


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """Boxes: the user of each, its lowest and highest value of each attribute (column;
    infinite where there is no bound), and where it was read."""

    user: Int32s
    low: Float64s
    high: Float64s
    source: Int32s
    position: Int64s
    sources: tuple[Source, ...]

    def where(self, row: int) -> str:
        """File and line of a box, for errors."""
        source = self.sources[self.source[row]]
        return place_of(source, int(self.position[row]))


def attributes_of(path: str, format: str | None) -> tuple[str, ...]:
    """The attributes that a file of subscriptions has ranges of, in its order."""
    kind = Kind("subscriptions", ("user",), option=_OPTION)
    found: dict[str, None] = {}
    for source in find_sources(kind, [path], _reading(format), 0):
        for name in column_names(source):
            for ending in (_LOW, _HIGH):
                if name.endswith(ending) and name != ending:
                    found.setdefault(name.removesuffix(ending))
    if not found:
        raise InputError(
            f"{path}: no column for a range, such as price_low or price_high",
            hint="Name the attributes of the messages with --attributes.",
        )
    return tuple(found)


def read_subscriptions(
    path: str, format: str | None, attributes: tuple[str, ...], users: Members
) -> Subscriptions:
    """All subscriptions, in memory. Raises InputError for the first bad row."""
    ends = tuple(name + end for name in attributes for end in (_LOW, _HIGH))
    kind = Kind("subscriptions", ("user",), ends, decimals=ends, option=_OPTION)
    sources = find_sources(kind, [path], _reading(format), 0)
    dictionary = Dictionary.of(users.names)
    parts = []
    for splits in split_sources(sources):
        for split in splits:
            for rows in read_rows(split):
                refuse_bad(split.source, rows.rejects)
                parts.append(_boxes(rows, attributes, dictionary, users))
    if not parts:
        raise InputError(f"{path} has no subscription in it")
    user, low, high, source, position = map(np.concatenate, zip(*parts, strict=True))
    return Subscriptions(user, low, high, source, position, tuple(sources))


def _reading(format: str | None) -> Reading:
    return Reading({"user": ("user",)}, True, format)


def _boxes(
    rows: Rows, attributes: tuple[str, ...], dictionary: Dictionary, users: Members
) -> tuple[Int32s, Float64s, Float64s, Int32s, Int64s]:
    spans = rows.names["user"]
    user = dictionary.ids(rows.buffer, spans.starts, spans.ends)
    if len(user) and user.min() < 0:
        row = int(np.argmin(user))
        name = bytes(rows.buffer[spans.starts[row] : spans.ends[row]]).decode()
        raise InputError(
            f"{place_of(rows.source, int(rows.position[row]))}: user {name!r} is not "
            f"in {users.file}"
        )
    low = _bounds(rows, attributes, _LOW, -np.inf)
    high = _bounds(rows, attributes, _HIGH, np.inf)
    source = np.full(len(user), rows.source.index, np.int32)
    return user, low, high, source, rows.position


def _bounds(
    rows: Rows, attributes: tuple[str, ...], ending: str, unbounded: float
) -> Float64s:
    absent = np.full(len(rows.position), np.nan)
    columns = [rows.numbers.get(name + ending, absent) for name in attributes]
    bounds = np.column_stack(columns)
    return np.where(np.isnan(bounds), unbounded, bounds)


def within(
    subscriptions: Subscriptions, axes: tuple[Axis, ...], *, told: bool
) -> tuple[Float64s, Float64s]:
    """The boxes with bounds in the space: unbounded ends become the space's.

    A space that the user has `told` must hold every bound. One that is only the range
    of the messages cuts the boxes off, but must meet each: what never was published
    has no sub-channel.
    """
    lows, highs = [], []
    for number, axis in enumerate(axes):
        low, high = subscriptions.low[:, number], subscriptions.high[:, number]
        least, most = axis.edges[0], axis.edges[-1]
        _refuse(subscriptions, axis, number, low > high, "low above high")
        outside = (low > most) | (high < least)
        if told:
            outside |= (np.isfinite(low) & (low < least)) | (
                np.isfinite(high) & (high > most)
            )
        _refuse(subscriptions, axis, number, outside, "outside the space")
        lows.append(np.maximum(low, least))
        highs.append(np.minimum(high, most))
    return np.column_stack(lows), np.column_stack(highs)


def _refuse(
    subscriptions: Subscriptions, axis: Axis, number: int, wrong: Bools, problem: str
) -> None:
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    low, high = subscriptions.low[row, number], subscriptions.high[row, number]
    raise InputError(
        f"{subscriptions.where(row)}: range of {axis.attribute!r} is {low:g} to "
        f"{high:g}, {problem}; expected within {axis.edges[0]:g} to {axis.edges[-1]:g}",
        hint="State the space with --space LOW:HIGH, and leave an end without a bound "
        "empty.",
    )


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
