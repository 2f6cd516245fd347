"""The messages: read once, spread over buckets by publisher, cut into sub-channels and
counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark import Broadcast, SparkContext

from brokerwise.kernels.deliveries import count_deliveries
from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.load import refuse_overflow
from brokerwise.model.network import Published
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.pipeline.ingest.columns import Reading
from brokerwise.pipeline.ingest.exchange import (
    Buckets,
    Emitted,
    Exchange,
    exchange_rows,
)
from brokerwise.pipeline.ingest.reasons import OUTSIDE, UNKNOWN, Tally
from brokerwise.pipeline.ingest.rows import Rows
from brokerwise.pipeline.ingest.sources import Kind, Source, find_sources, split_sources
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.networks.generate import offsets_of
from brokerwise.pipeline.summarize.interests import Interests
from brokerwise.pipeline.summarize.options import MASS, Space, SummarizeOptions

BYTES_PER_BUCKET = 8 << 20
Keys = npt.NDArray[np.uint64]
_THRESHOLDS = 1 << 17  # that messages are compared with in one pass
_SIGN = np.uint64(1 << 63)
_PENDING = 1_000_000  # messages


@dataclass(frozen=True, eq=False)
class Messages:
    """Some messages: who published each, its attributes (columns), and what it adds
    to a rate."""

    publisher: Int32s
    points: Float64s
    amount: Int64s


def find_messages(
    options: SummarizeOptions, attributes: tuple[str, ...]
) -> list[Source]:
    """The files of messages, with their columns."""
    required = ("publisher", "time", *attributes)
    required += ("size",) if options.by_bytes else ()
    optional = () if options.by_bytes else ("size",)
    kind = Kind("messages", required, optional, attributes, "MESSAGES")
    reading = Reading({role: (role,) for role in required}, True, options.format)
    try:
        return find_sources(kind, options.messages, reading, 0)
    except InputError as cause:
        if "no column" not in cause.message:
            raise
        raise InputError(
            cause.message,
            hint=f"Messages need columns {', '.join(required)}; --attributes says "
            "which tell the content.",
        ) from cause


def exchange_messages(
    context: SparkContext,
    sources: list[Source],
    dictionary: "Broadcast[Dictionary]",
    users: int,
    attributes: tuple[str, ...],
    space: Space | None,
    by_bytes: bool,
) -> Exchange:
    """Messages of one publisher end up in one bucket; buckets are in the order of
    users. Nothing is read before the exchange is."""
    size = sum(source.size for source in sources)
    wanted = min(size // BYTES_PER_BUCKET + 1, users)
    buckets = Buckets.of(wanted, len(sources))
    emit = EmitMessages(buckets, dictionary, users, attributes, space, by_bytes)
    return exchange_rows(context, split_sources(sources), buckets, emit)


class EmitMessages:
    """Spreads messages over ranges of users. Those of nobody known, or outside the
    space, are rejected."""

    def __init__(
        self,
        buckets: Buckets,
        dictionary: "Broadcast[Dictionary]",
        users: int,
        attributes: tuple[str, ...],
        space: Space | None,
        by_bytes: bool,
    ) -> None:
        self._buckets = buckets
        self._dictionary = dictionary
        self._users = users
        self._attributes = attributes
        self._space = space
        self._by_bytes = by_bytes

    def __call__(self, rows: Rows, tally: Tally) -> Iterator[Emitted]:
        spans = rows.names["publisher"]
        who = self._dictionary.value.ids(rows.buffer, spans.starts, spans.ends)
        points = np.column_stack([rows.numbers[name] for name in self._attributes])
        reason, found = self._problems(rows, who, points)
        bad = reason > 0
        yield from self._buckets.rejected(rows, bad, reason, found, tally)
        if not bad.all():
            yield from self._spread(rows, who, points, ~bad, tally)

    def _problems(
        self, rows: Rows, who: Int32s, points: Float64s
    ) -> tuple[Int32s, Int32s]:
        """Why a message cannot be used, and which of the file's roles is at fault."""
        roles = rows.source.roles
        reason = np.where(who < 0, UNKNOWN, 0).astype(np.int32)
        found = np.full(len(who), roles.index("publisher"), np.int32)
        for number, (low, high) in enumerate(self._space or ()):
            values = points[:, number]
            outside = (reason == 0) & ((values < low) | (values > high))
            reason[outside] = OUTSIDE
            found[outside] = roles.index(self._attributes[number])
        return reason, found

    def _spread(
        self, rows: Rows, who: Int32s, points: Float64s, good: Bools, tally: Tally
    ) -> Iterator[Emitted]:
        who, points = who[good], points[good]
        times = rows.numbers["time"][good]
        span = Tally(first_micros=int(times.min()), last_micros=int(times.max()))
        tally.merge(span)
        amount = np.ones(len(who), np.int64)
        if self._by_bytes:
            amount = rows.numbers["size"][good]
        count = self._buckets.data
        bucket = (who.astype(np.int64) * count // self._users).astype(np.int32)
        order, bounds = counting_order(bucket, count)
        for number in range(count):
            chosen = order[bounds[number] : bounds[number + 1]]
            if len(chosen):
                few = Messages(who[chosen], points[chosen], amount[chosen])
                yield number, few


def cut_space(
    exchange: Exchange,
    attributes: tuple[str, ...],
    intervals: tuple[int, ...],
    space: Space | None,
    cut: str,
) -> Subchannels:
    """The sub-channels. Cuts by mass are exact: they do not depend on how messages
    are spread over files. Where many messages have the same value, some intervals
    fall together, and there are fewer than asked for.

    Reads the messages that were exchanged: not at all for equal widths of a known
    space; for quantiles about seven times.
    """
    if space is None:
        space = _ranges(exchange, attributes)
    if cut != MASS:
        edges = [
            np.linspace(low, high, count + 1)
            for (low, high), count in zip(space, intervals, strict=True)
        ]
    else:
        inner = _quantiles(exchange, intervals)
        edges = [
            np.array([low, *(v for v in np.unique(values) if low < v < high), high])
            for (low, high), values in zip(space, inner, strict=True)
        ]
    cuts = zip(attributes, edges, strict=True)
    return Subchannels(tuple(Axis(name, tuple(at)) for name, at in cuts))


def _ranges(exchange: Exchange, attributes: tuple[str, ...]) -> Space:
    """The lowest and the highest value of each attribute."""

    def span(bucket: int, items: Iterator[Messages]) -> Iterator[Any]:
        for some in items:
            yield some.points.min(axis=0), some.points.max(axis=0)

    found = exchange.read(lambda bucket, items: _merged_span(span(bucket, items)))
    if not found:
        raise InputError(
            "no message can be used, so there is no range to cut",
            hint="State the space with --space LOW:HIGH.",
        )
    low = np.min([low for low, _ in found], axis=0)
    high = np.max([high for _, high in found], axis=0)
    for name, least, most in zip(attributes, low, high, strict=True):
        if least == most:
            raise InputError(
                f"attribute {name!r} is {least:g} in all messages: a range of no width "
                "cannot be cut",
                hint="State the space with --space LOW:HIGH.",
            )
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def _merged_span(spans: Iterator[Any]) -> Iterator[Any]:
    found = list(spans)
    if found:
        yield (
            np.min([low for low, _ in found], axis=0),
            np.max([high for _, high in found], axis=0),
        )


def _quantiles(exchange: Exchange, intervals: tuple[int, ...]) -> list[Float64s]:
    """For each attribute the values at k / intervals of all messages in order.

    Selection by digits: each pass counts, for every quantile, the messages below some
    values between which it is known to be, and narrows these down.
    """
    total = sum(exchange.read(_count_values))
    ranks = [np.arange(1, count) * total // count for count in intervals]
    lows = [np.zeros(len(rank), np.uint64) for rank in ranks]
    most = max(1, *map(len, ranks)) * len(ranks)
    digits = max(1, int(np.log2(_THRESHOLDS // min(most, _THRESHOLDS // 2))))
    left = 64
    while left and total:
        taken = min(digits, left)
        left -= taken
        steps = np.arange(1 << taken, dtype=np.uint64) << np.uint64(left)
        thresholds = [low[:, None] + steps for low in lows]
        below = _below(exchange, thresholds)
        lows = [
            low + steps[(counts <= rank[:, None]).sum(axis=1) - 1]
            for low, counts, rank in zip(lows, below, ranks, strict=True)
        ]
    return [_values(low) for low in lows]


def _count_values(bucket: int, items: Iterator[Messages]) -> Iterator[int]:
    yield sum(len(some.publisher) for some in items)


def _below(exchange: Exchange, thresholds: list[Keys]) -> list[Int64s]:
    """How many messages are below each threshold, attribute by attribute."""

    def count(bucket: int, items: Iterator[Messages]) -> Iterator[list[Int64s]]:
        counts = [np.zeros(keys.shape, np.int64) for keys in thresholds]
        for some in items:
            for number, keys in enumerate(thresholds):
                values = np.sort(_keys(some.points[:, number]))
                counts[number] += np.searchsorted(values, keys.ravel()).reshape(
                    keys.shape
                )
        yield counts

    parts = exchange.read(count)
    return [np.sum(same, axis=0) for same in zip(*parts, strict=True)]


def _keys(values: Float64s) -> Keys:
    """Numbers as whole ones in the same order; 0 and -0 are one."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _values(keys: Keys) -> Float64s:
    bits = np.where(keys & _SIGN, keys & ~_SIGN, ~keys)
    return bits.astype(np.uint64).view(np.float64)


@dataclass(frozen=True, eq=False)
class MessageCount:
    """What users publish; how many messages there were; deliveries that sub-channels
    cause, and those that exact ranges would."""

    published: Published
    messages: int
    deliveries: int
    exact: int

    @property
    def false_positive_share(self) -> float:
        """Of all deliveries by sub-channel, those that nobody asked for."""
        if not self.deliveries:
            return 0.0
        return (self.deliveries - self.exact) / self.deliveries


@dataclass(frozen=True, eq=False)
class _Bucket:
    user: Int32s
    subchannel: Int32s
    rate: Int64s
    messages: int
    deliveries: int
    exact: int


def count_messages(
    exchange: Exchange,
    subchannels: Subchannels,
    interests: "Broadcast[Interests]",
    users: int,
) -> MessageCount:
    """A task counts each bucket; only rates come to the driver."""

    def count(bucket: int, items: Iterator[Messages]) -> Iterator[Any]:
        try:
            yield _count(items, subchannels, interests.value)
        except InputError as error:  # to try again would not help
            yield error

    parts: list[_Bucket] = []
    for part in exchange.read(count):
        if isinstance(part, InputError):
            raise part
        parts.append(part)
    user = np.concatenate([part.user for part in parts])
    rates = np.concatenate([part.rate for part in parts])
    return MessageCount(
        Published(
            offsets_of(np.bincount(user, minlength=users)),
            np.concatenate([part.subchannel for part in parts]),
            rates,
        ),
        sum(part.messages for part in parts),
        sum(part.deliveries for part in parts),
        sum(part.exact for part in parts),
    )


def _count(
    items: Iterator[Messages], subchannels: Subchannels, interests: Interests
) -> _Bucket:
    cells = len(subchannels)
    sums = _Sums()
    messages = 0
    deliveries = np.zeros(2, np.int64)
    for some in items:
        subchannel = subchannels.of_points(some.points)
        messages += len(subchannel)
        deliveries += _deliveries(some, subchannel, interests)
        sums.add(some.publisher.astype(np.int64) * cells + subchannel, some.amount)
    keys, rates = sums.total()
    published = rates > 0  # a message may have no bytes
    user, subchannels_of = np.divmod(keys[published], cells)
    return _Bucket(
        user.astype(np.int32),
        subchannels_of.astype(np.int32),
        rates[published],
        messages,
        int(deliveries[0]),
        int(deliveries[1]),
    )


def _deliveries(some: Messages, subchannel: Int32s, interests: Interests) -> Int64s:
    return count_deliveries(
        some.publisher,
        subchannel,
        some.points,
        interests.wanted.offsets,
        interests.wanted.subchannels,
        interests.coverage,
    )


class _Sums:
    """Amounts by key. Holds each key once and at most as many entries besides."""

    def __init__(self) -> None:
        self._keys: list[Int64s] = []
        self._amounts: list[Int64s] = []
        self._pending = 0
        self._merged = 0

    def add(self, keys: Int64s, amounts: Int64s) -> None:
        self._keys.append(keys)
        self._amounts.append(amounts)
        self._pending += len(keys)
        if self._pending > max(self._merged, _PENDING):
            self.total()

    def total(self) -> tuple[Int64s, Int64s]:
        """All keys, ascending, and the sum of each."""
        none = np.zeros(0, np.int64)
        keys = np.concatenate([none, *self._keys])
        amounts = np.concatenate([none, *self._amounts])
        refuse_overflow("rate", amounts, np.ones(len(amounts)))
        order = np.argsort(keys, kind="stable")
        keys, amounts = keys[order], amounts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        sums = np.add.reduceat(amounts, starts) if len(starts) else none
        self._keys, self._amounts = [keys[starts]], [sums]
        self._pending, self._merged = 0, len(starts)
        return keys[starts], sums
