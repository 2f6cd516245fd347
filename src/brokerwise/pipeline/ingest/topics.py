"""The topics: their rates, or the counts of their events, and their ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.kernels import names as kernels
from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import Bytes, Int32s, Int64s, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.load import refuse_overflow
from brokerwise.model.names import Names
from brokerwise.pipeline.ingest.exchange import Buckets, Emitted, Exchange
from brokerwise.pipeline.ingest.reasons import Rejects, Tally, conflicts
from brokerwise.pipeline.ingest.rows import Rows

NO_RATE = -1


@dataclass(frozen=True, eq=False)
class RateRows:
    """Names with a value each, and where the value came from."""

    data: Bytes
    offsets: Int64s
    values: Int64s
    source: Int32s
    position: Int64s


@dataclass(frozen=True, eq=False)
class Topics:
    """All topics, numbered by descending rate, then by name."""

    names: Names
    rates: Int64s
    duplicates: int
    conflicts: tuple[Rejects, ...]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """From a topic's name to its id."""

    slots: Int64s
    data: Bytes
    offsets: Int64s

    @classmethod
    def of(cls, names: Names) -> "Dictionary":
        data, offsets = names.data, names.offsets
        return cls(kernels.build_table(data, offsets), data, offsets)

    def ids(self, buffer: Bytes, starts: Int32s, ends: Int32s) -> Int32s:
        """The id of each name, or -1."""
        return kernels.look_up(
            self.slots, self.data, self.offsets, buffer, starts, ends
        )


class EmitTopics:
    """Spreads the topics of rates, events or pairs over buckets by their hash."""

    def __init__(self, buckets: Buckets, by_bytes: bool) -> None:
        self._buckets = buckets
        self._by_bytes = by_bytes

    def __call__(self, rows: Rows, tally: Tally) -> Iterator[Emitted]:
        spans = rows.names["topic"]
        if len(spans.starts) == 0:
            return
        if rows.source.kind.name == "rates":
            keep = np.arange(len(spans.starts), dtype=np.int32)
            values = rows.numbers["rate"]
        else:
            codes, keep = kernels.distinct(rows.buffer, spans.starts, spans.ends)
            values = self._values(rows, codes, len(keep), tally)
        yield from self._spread(rows, keep, values)

    def _values(self, rows: Rows, codes: Int32s, count: int, tally: Tally) -> Int64s:
        """The value of each distinct topic: its events, or none for pairs."""
        if rows.source.kind.name == "pairs":
            return np.full(count, NO_RATE, np.int64)
        times = rows.numbers["time"]
        seen = Tally(first_micros=int(times.min()), last_micros=int(times.max()))
        tally.merge(seen)
        if not self._by_bytes:
            return np.bincount(codes, minlength=count)
        return _exact_sums(codes, rows.numbers["bytes"], count)

    def _spread(self, rows: Rows, keep: Any, values: Int64s) -> Iterator[Emitted]:
        spans = rows.names["topic"]
        starts, ends = spans.starts[keep], spans.ends[keep]
        buckets = kernels.hash_buckets(rows.buffer, starts, ends, self._buckets.data)
        order, bounds = counting_order(buckets, self._buckets.data)
        for bucket in range(self._buckets.data):
            chosen = order[bounds[bucket] : bounds[bucket + 1]]
            if len(chosen):
                data, offsets = kernels.gather(
                    rows.buffer, starts[chosen], ends[chosen]
                )
                source = np.full(len(chosen), rows.source.index, np.int32)
                position = rows.position[keep][chosen]
                yield bucket, RateRows(data, offsets, values[chosen], source, position)


def number_topics(
    exchange: Exchange, *, summed: bool, differing: bool, missing_rate: int | None
) -> Topics:
    """Merge what was spread, and number the topics.

    Values of one topic are summed, or the largest is kept; then rows that say
    otherwise are conflicts, unless they may be `differing`. A topic without a value
    gets `missing_rate`.
    """

    def merge(bucket: int, items: Iterator[Any]) -> Iterator[Any]:
        parts = list(items)
        if parts:
            try:
                yield _merge(_concatenated(parts), summed, differing, missing_rate)
            except InputError as error:
                yield error

    merged = exchange.read(merge)
    for part in merged:
        if isinstance(part, InputError):
            raise part
    if not merged:
        return Topics(Names.of([]), np.zeros(0, np.int64), 0, ())
    data, offsets = _stacked([(data, offsets) for data, offsets, *_ in merged])
    rates = np.concatenate([rates for _, _, rates, *_ in merged])
    _refuse_too_much(rates)
    rank = np.empty(len(rates), np.int64)
    rank[kernels.sort_order(data, offsets[:-1], offsets[1:])] = np.arange(len(rates))
    order = np.lexsort((rank, -rates))
    data, offsets = kernels.gather(data, offsets[:-1][order], offsets[1:][order])
    return Topics(
        Names(data, offsets),
        rates[order],
        sum(duplicates for *_, duplicates, _ in merged),
        tuple(rejects for *_, late in merged for rejects in late),
    )


def _merge(
    part: RateRows, summed: bool, differing: bool, missing_rate: int | None
) -> tuple[Bytes, Int64s, Int64s, int, list[Rejects]]:
    starts, ends = part.offsets[:-1], part.offsets[1:]
    codes, firsts = kernels.distinct(part.data, starts, ends)
    rated = part.values != NO_RATE
    if summed:
        values = np.where(rated, part.values, 0)
        rates = _exact_sums(codes, values, len(firsts))
    else:
        rates = np.full(len(firsts), NO_RATE, np.int64)
        np.maximum.at(rates, codes, part.values)
    without = np.bincount(codes, rated, len(firsts)) == 0
    if missing_rate is not None:
        rates[without] = missing_rate
    conflicting = rated & (part.values != rates[codes])
    if summed or differing:
        conflicting[:] = False
    duplicates = int(rated.sum() - (~without).sum() - conflicting.sum())
    data, offsets = kernels.gather(part.data, starts[firsts], ends[firsts])
    late = conflicts(part.source[conflicting], part.position[conflicting])
    return data, offsets, rates, duplicates, late


def _concatenated(parts: list[RateRows]) -> RateRows:
    data, offsets = _stacked([(p.data, p.offsets) for p in parts])
    return RateRows(
        data,
        offsets,
        np.concatenate([p.values for p in parts]),
        np.concatenate([p.source for p in parts]),
        np.concatenate([p.position for p in parts]),
    )


def _stacked(parts: list[tuple[Bytes, Int64s]]) -> tuple[Bytes, Int64s]:
    """Several sets of names as one."""
    lengths = np.concatenate([np.diff(offsets) for _, offsets in parts])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return read_only(np.concatenate([data for data, _ in parts])), offsets


def _exact_sums(codes: Int32s, values: Int64s, count: int) -> Int64s:
    _refuse_too_much(values)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, codes, values)
    return sums


def _refuse_too_much(values: Int64s) -> None:
    refuse_overflow("rate", values, np.ones(len(values)))
