"""The subscriptions: a range of each attribute, several rows of a user together."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.subchannels import Axis
from brokerwise.pipeline.ingest.columns import Reading, column_names
from brokerwise.pipeline.ingest.rejected import place_of, refuse_bad
from brokerwise.pipeline.ingest.rows import Rows, read_rows
from brokerwise.pipeline.ingest.sources import Kind, Source, find_sources
from brokerwise.pipeline.ingest.splits import split_sources
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.network_files import Members

_OPTION = "--subscriptions"
_LOW, _HIGH = "_low", "_high"


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
