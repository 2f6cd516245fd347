"""The messages: read once, and spread over buckets by publisher."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pyspark import Broadcast, SparkContext

from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.columns import Reading
from brokerwise.pipeline.ingest.exchange import (
    Buckets,
    Emitted,
    Exchange,
    exchange_rows,
)
from brokerwise.pipeline.ingest.rejects import OUTSIDE, UNKNOWN, Rejects, Tally
from brokerwise.pipeline.ingest.rows import Rows
from brokerwise.pipeline.ingest.sources import Kind, Source, find_sources
from brokerwise.pipeline.ingest.splits import split_sources
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.summarize.options import Space, SummarizeOptions

BYTES_PER_BUCKET = 8 << 20


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
        if bad.any():
            index = rows.source.index
            rejects = Rejects(index, rows.position[bad], reason[bad], found[bad])
            tally.add_rejects(rejects)
            yield self._buckets.of_rejects(index), rejects
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
