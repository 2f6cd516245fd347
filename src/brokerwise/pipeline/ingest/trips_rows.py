"""Trips, read once: the good ones as arrays, spread over tasks."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from brokerwise.kernels import names as kernels
from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import Bools, Bytes, Float64s, Int32s, Int64s
from brokerwise.pipeline.ingest.exchange import Buckets, Emitted
from brokerwise.pipeline.ingest.rejects import (
    BACKWARDS,
    ENDLESS,
    FAR,
    NO_ZONE,
    NOWHERE,
    Rejects,
    Tally,
)
from brokerwise.pipeline.ingest.rows import Rows
from brokerwise.pipeline.ingest.trips_options import TripOptions
from brokerwise.pipeline.ingest.trips_sources import POINTS, ZONES, Zones

TAXI, TRIP = b"taxi/", b"trip/"
_NAME_BYTES = 8  # of the digest that names a trip of nobody known
_MOST_DEGREES = (180, 90, 180, 90)


@dataclass(frozen=True, eq=False)
class Trips:
    """Some trips: the taxi's name, when it begins and ends (milliseconds since 1970),
    where (columns: lon, lat, lon, lat), and where the row is."""

    data: Bytes
    lengths: Int64s
    begin: Int64s
    end: Int64s
    degrees: Float64s
    source: int
    position: Int64s

    def offsets(self) -> Int64s:
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def once(self, fold: int | None) -> Bools:
        """Which of them are not there a second time, as `folded` makes some."""
        return np.ones(len(self.begin), bool) if fold is None else self.begin >= 0

    def rejected(self, bad: Bools, reason: Int32s, found: Int32s) -> Rejects:
        return Rejects(self.source, self.position[bad], reason[bad], found[bad])


class SharedZones(Protocol):
    """Zones, as a broadcast has them."""

    @property
    def value(self) -> Zones: ...


class EmitTrips:
    """Spreads trips over buckets by the taxi's name; those that cannot be are
    rejected. Without a column for taxis each trip is a taxi of its own, named after
    what its row says: so equal rows give equal names, wherever they are."""

    def __init__(
        self, buckets: Buckets, options: TripOptions, zones: SharedZones | None
    ) -> None:
        self._buckets = buckets
        self._longest = options.longest_ms
        self._fold = options.fold_ms
        self._zones = zones

    def __call__(self, rows: Rows, tally: Tally) -> Iterator[Emitted]:
        begin = rows.numbers["pickup_time"] // 1000
        end = rows.numbers["dropoff_time"] // 1000
        degrees, reason, found = self._places(rows)
        for wrong, why in (
            (end <= begin, BACKWARDS),
            (end - begin > self._longest, ENDLESS),
        ):
            reason[wrong & (reason == 0)] = why
        bad = reason > 0
        if bad.any():
            index = rows.source.index
            rejects = Rejects(index, rows.position[bad], reason[bad], found[bad])
            tally.add_rejects(rejects)
            yield self._buckets.of_rejects(index), rejects
        if not bad.all():
            yield from self._spread(rows, begin, end, degrees, ~bad)

    def _places(self, rows: Rows) -> tuple[Float64s, Int32s, Int32s]:
        """Where trips begin and end, what is wrong with that, and in which role."""
        if self._zones is not None:
            return _of_zones(rows, self._zones.value)
        degrees = np.column_stack([rows.numbers[role] for role in POINTS])
        reason = np.zeros(len(degrees), np.int32)
        found = np.zeros(len(degrees), np.int32)
        zero = degrees == 0
        reason[(zero[:, 0] & zero[:, 1]) | (zero[:, 2] & zero[:, 3])] = NOWHERE
        for column, most in enumerate(_MOST_DEGREES):
            wrong = (reason == 0) & (np.abs(degrees[:, column]) > most)
            reason[wrong] = FAR
            found[wrong] = rows.source.roles.index(POINTS[column])
        return degrees, reason, found

    def _spread(
        self, rows: Rows, begin: Int64s, end: Int64s, degrees: Float64s, good: Bools
    ) -> Iterator[Emitted]:
        begin, end, degrees = begin[good], end[good], degrees[good]
        position = rows.position[good]
        data, offsets = _names(rows, begin, end, degrees, good)
        starts, ends = offsets[:-1], offsets[1:]
        if self._fold is not None:
            begin, end, which = folded(begin, end, self._fold)
            starts, ends = starts[which], ends[which]
            degrees, position = degrees[which], position[which]
        count = self._buckets.data
        order, bounds = counting_order(
            kernels.hash_buckets(data, starts, ends, count), count
        )
        for bucket in range(count):
            chosen = order[bounds[bucket] : bounds[bucket + 1]]
            if len(chosen):
                text, spans = kernels.gather(data, starts[chosen], ends[chosen])
                yield (
                    bucket,
                    Trips(
                        *(text, np.diff(spans), begin[chosen], end[chosen]),
                        *(degrees[chosen], rows.source.index, position[chosen]),
                    ),
                )


def folded(begin: Int64s, end: Int64s, fold: int) -> tuple[Int64s, Int64s, Int64s]:
    """Trips within one stretch of time, [0, fold). One that goes on beyond it is there
    a second time, from before it. Returns also which trip each was."""
    before = begin // fold * fold
    begin, end = begin - before, end - before
    over = np.flatnonzero(end > fold)
    which = np.concatenate([np.arange(len(begin)), over])
    return (
        np.concatenate([begin, begin[over] - fold]),
        np.concatenate([end, end[over] - fold]),
        which,
    )


def _of_zones(rows: Rows, zones: Zones) -> tuple[Float64s, Int32s, Int32s]:
    count = len(rows.position)
    degrees = np.zeros((count, 4))
    reason, found = np.zeros(count, np.int32), np.zeros(count, np.int32)
    for at, role in enumerate(ZONES):
        spans = rows.names[role]
        zone = zones.dictionary.ids(rows.buffer, spans.starts, spans.ends)
        unknown = zone < 0
        found[unknown & (reason == 0)] = rows.source.roles.index(role)
        reason[unknown] = NO_ZONE
        known = np.where(unknown, 0, zone)
        degrees[:, 2 * at] = zones.lon[known]
        degrees[:, 2 * at + 1] = zones.lat[known]
    return degrees, reason, found


def _names(
    rows: Rows, begin: Int64s, end: Int64s, degrees: Float64s, good: Bools
) -> tuple[Bytes, Int64s]:
    spans = rows.names.get("taxi")
    if spans is None:
        names = [
            TRIP + hashlib.blake2b(row, digest_size=_NAME_BYTES).hexdigest().encode()
            for row in _texts(begin, end, degrees)
        ]
    else:
        text = rows.buffer.tobytes()
        starts, ends = spans.starts[good].tolist(), spans.ends[good].tolist()
        names = [TAXI + text[a:b] for a, b in zip(starts, ends, strict=True)]
    offsets = np.cumsum([0, *map(len, names)]).astype(np.int64)
    return np.frombuffer(b"".join(names), np.uint8), offsets


def _texts(begin: Int64s, end: Int64s, degrees: Float64s) -> Iterator[bytes]:
    rows = zip(begin.tolist(), end.tolist(), degrees.tolist(), strict=True)
    return (repr(row).encode() for row in rows)
