"""The regions that taxis come through: where and when trips are, how many positions
there are, and who is there."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark import Broadcast

from brokerwise.kernels import names as kernels
from brokerwise.kernels.lists import counting_order, gather_slices
from brokerwise.kernels.trips import most_at_once, visits
from brokerwise.model.arrays import Bools, Int32s, Int64s, read_only
from brokerwise.model.grid import Grid, key_names
from brokerwise.model.names import Names
from brokerwise.pipeline.ingest.exchange import Buckets, Emitted, Exchange
from brokerwise.pipeline.ingest.options import TripOptions, Window
from brokerwise.pipeline.ingest.pairs import WantedPairs
from brokerwise.pipeline.ingest.reasons import FAR, Rejects
from brokerwise.pipeline.ingest.records import POINTS, ZONES, Trips
from brokerwise.pipeline.ingest.sources import Source

_BINS_PER_DEGREE = 100
_Counts = tuple[Int64s, Int64s]  # values, and how often each is there
GPS, UPDATE = "gps/", "update/"
SERVICE = b"service"
_SAMPLE = 1024
_Use = Callable[[Iterator[Trips]], Iterator[Emitted]]


@dataclass(frozen=True)
class Survey:
    """The trips in the area: how many, from when to when they go, and how many
    positions there are in each stretch of time, if that was asked; and the rows of
    those outside."""

    trips: int
    first_ms: int
    last_ms: int
    stretches: _Counts
    outside: tuple[Rejects, ...]


def find_centre(exchange: Exchange, fold: int | None) -> tuple[float, float] | None:
    """The median longitude and latitude of all beginnings, rounded down to hundredths
    of a degree: a few strange places do not change it, nor does the order of rows.
    None if there are no trips."""

    def count(bucket: int, items: Iterator[Trips]) -> Iterator[list[_Counts]]:
        lots = [trips.degrees[trips.once(fold), :2] for trips in items]
        if lots:
            bins = np.floor(np.concatenate(lots) * _BINS_PER_DEGREE).astype(np.int64)
            yield [np.unique(column, return_counts=True) for column in bins.T]

    counted = exchange.read(count)
    if not counted:
        return None
    lon, lat = (_median(added([lots[axis] for lots in counted])) for axis in (0, 1))
    return lon / _BINS_PER_DEGREE, lat / _BINS_PER_DEGREE


def _median(counts: _Counts) -> int:
    values, numbers = counts
    upto = np.cumsum(numbers)
    return int(values[np.searchsorted(upto, (upto[-1] + 1) // 2)])


def added(counts: list[_Counts]) -> _Counts:
    """Several tallies as one, values ascending."""
    none = np.zeros(0, np.int64)
    values = np.concatenate([none, *(v for v, _ in counts)])
    numbers = np.concatenate([none, *(n for _, n in counts)])
    distinct, at = np.unique(values, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, at, numbers)
    return distinct, sums


def inside(trips: Trips, grid: Grid, within_mm: int) -> tuple[Int64s, Bools]:
    """Places in millimetres (columns: x, y, x, y), and which of them are near enough
    to the centre."""
    ends = [grid.project(trips.degrees[:, k], trips.degrees[:, k + 1]) for k in (0, 2)]
    places = np.column_stack([*ends[0], *ends[1]])
    return places, np.abs(places) <= within_mm


def survey(
    exchange: Exchange, sources: list[Source], grid: Grid, options: TripOptions
) -> Survey:
    """Only counts come to the driver."""
    within, every, width = options.within_mm, options.gps_ms, options.busiest_ms
    fold = options.fold_ms

    def look(bucket: int, items: Iterator[Trips]) -> Iterator[Survey]:
        for trips in items:
            _, near = inside(trips, grid, within)
            good = near.all(axis=1)
            begin, end = trips.begin[good], trips.end[good]
            stretches = positions_by_stretch(begin, end, every, width, fold)
            once = trips.once(fold)
            bad = ~good & once
            outside = (_outside(trips, near, bad, sources),) if bad.any() else ()
            if len(begin):
                count = int((good & once).sum())
                last = int(end.max())
                yield Survey(count, int(begin.min()), last, stretches, outside)
            else:
                yield Survey(0, 0, 0, stretches, outside)

    parts = exchange.read(look)
    used = [part for part in parts if part.last_ms > part.first_ms]
    return Survey(
        sum(part.trips for part in used),
        min((part.first_ms for part in used), default=0),
        max((part.last_ms for part in used), default=0),
        added([part.stretches for part in used]),
        tuple(rejects for part in parts for rejects in part.outside),
    )


def _outside(trips: Trips, near: Bools, bad: Bools, sources: list[Source]) -> Rejects:
    """Trips of which an end is outside; the first such column is at fault."""
    roles = sources[trips.source].roles
    by_zone = ZONES[0] in roles
    columns = [ZONES[0], ZONES[0], ZONES[1], ZONES[1]] if by_zone else POINTS
    found = np.array([roles.index(role) for role in columns], np.int32)
    reason = np.full(len(bad), FAR, np.int32)
    return trips.rejected(bad, reason, found[np.argmin(near, axis=1)])


def positions_by_stretch(
    begin: Int64s, end: Int64s, every: int, width: int | None, fold: int | None = None
) -> _Counts:
    """How many positions trips tell in each stretch of `width` milliseconds that has
    any; stretch s is [s * width, (s + 1) * width). With `fold` only those in [0, fold)
    count."""
    if width is None or not len(begin):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first, last = begin // width, (end - 1) // width
    each = last - first + 1
    trip = np.repeat(np.arange(len(begin)), each)
    starts = np.repeat(np.cumsum(each) - each, each)
    stretch = first[trip] + np.arange(len(trip)) - starts
    positions = -((begin - end) // every)
    upto = [
        np.clip(-((begin[trip] - edge * width) // every), 0, positions[trip])
        for edge in (stretch, stretch + 1)
    ]
    within = slice(None) if fold is None else (stretch >= 0) & (stretch < fold // width)
    return added([(stretch[within], (upto[1] - upto[0])[within])])


def busiest(stretches: _Counts, width: int) -> Window:
    """The stretch with most positions, the first of several."""
    values, numbers = stretches
    at = int(values[np.argmax(numbers)])
    return at * width, (at + 1) * width


@dataclass(frozen=True)
class Drive:
    """How trips become positions: the same in every task."""

    grid: Grid
    within_mm: int
    gps_ms: int
    window: Window

    def stays(self, trips: Trips) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """As `kernels.trips.visits` has it, of the trips inside the area."""
        places, near = inside(trips, self.grid, self.within_mm)
        good = np.flatnonzero(near.all(axis=1))
        trip, *rest = visits(
            trips.begin[good],
            trips.end[good],
            places[good],
            self.gps_ms,
            self.grid.cell_mm,
            self.window,
        )
        return good[trip], rest[0], rest[1], rest[2]


@dataclass(frozen=True, eq=False)
class Regions:
    """By region: its key, the positions told in it, and the most taxis that were in it
    at once. A taxi is in a region from a position there until its next."""

    keys: Int64s
    positions: Int64s
    most_taxis: Int64s


@dataclass(frozen=True, eq=False)
class RegionTopics:
    """The topics of all regions, numbered; `update_of[i]` is the update topic of the
    region that `keys[i]`, which ascend, is the key of."""

    names: Names
    rates: Int64s
    publishers: Int64s
    processing_ms: Any
    gps: Int32s
    keys: Int64s
    update_of: Int32s


def count_regions(exchange: Exchange, drive: Drive, buckets: int) -> Regions:
    """Tasks walk the trips; each region's stays come together in one bucket."""

    def walk(lots: Iterator[Trips]) -> Iterator[Emitted]:
        for trips in lots:
            yield from _stayed(trips, drive, buckets)

    def count(bucket: int, items: Iterator[Any]) -> Iterator[Regions]:
        stays = list(items)
        if stays:
            key, time, told = map(np.concatenate, zip(*stays, strict=True))
            yield _counted(key, time, told, drive.gps_ms)

    parts = spread(exchange, walk, buckets).read(count)
    none = np.zeros(0, np.int64)
    keys, positions, most = (
        np.concatenate([none, *(getattr(part, name) for part in parts)])
        for name in ("keys", "positions", "most_taxis")
    )
    order = np.argsort(keys)
    return Regions(keys[order], positions[order], most[order])


def _stayed(trips: Trips, drive: Drive, buckets: int) -> Iterator[Emitted]:
    """Not within what is sent to tasks: a kernel named there would be sent along, and
    compiled by each of their processes anew."""
    _, key, time, count = drive.stays(trips)
    to = ((key ^ (key >> 32)) % buckets).astype(np.int32)
    order, bounds = counting_order(to, buckets)
    for number in range(buckets):
        chosen = order[bounds[number] : bounds[number + 1]]
        if len(chosen):
            yield number, (key[chosen], time[chosen], count[chosen])


def spread(exchange: Exchange, use: _Use, buckets: int, *more: Emitted) -> Exchange:
    """What `use` makes of the trips, and `more`, over other buckets."""
    context, data = exchange.rdd.context, exchange.buckets.data
    rdd = exchange.rdd.mapPartitionsWithIndex(
        lambda bucket, items: use(v for _, v in items if bucket < data)
    )
    if more:
        rdd = rdd.union(context.parallelize(list(more), 1))
    return Exchange(Buckets(buckets, 1), rdd.partitionBy(buckets, int))


def _counted(key: Int64s, time: Int64s, count: Int64s, every: int) -> Regions:
    keys, region = np.unique(key, return_inverse=True)
    positions = np.zeros(len(keys), np.int64)
    np.add.at(positions, region, count)
    ends = time + count * every
    offsets = np.searchsorted(np.sort(region), np.arange(len(keys) + 1))
    most = most_at_once(
        time[np.lexsort((time, region))], ends[np.lexsort((ends, region))], offsets
    )
    return Regions(keys, positions, most)


def number_topics(
    regions: Regions, options: TripOptions, period_ms: int
) -> RegionTopics:
    """Two topics for each region: by descending rate, then by name."""
    names = key_names(regions.keys)
    count = len(names)
    updates = np.full(count, max(1, period_ms // options.update_ms), np.int64)
    rates = np.concatenate([regions.positions, updates])
    publishers = np.concatenate([regions.most_taxis, np.ones(count, np.int64)])
    gps = [processing_of(GPS + name, options) for name in names]
    processing = np.array([*gps, *[options.update_processing_ms] * count], np.float64)
    topics = [GPS + name for name in names] + [UPDATE + name for name in names]
    order = sorted(range(2 * count), key=lambda t: (-int(rates[t]), topics[t].encode()))
    number = np.empty(2 * count, np.int32)
    number[order] = np.arange(2 * count)
    return RegionTopics(
        Names.of(topics[t] for t in order),
        rates[order],
        publishers[order],
        processing[order],
        np.sort(number[:count]),
        regions.keys,
        number[count:],
    )


def processing_of(topic: str, options: TripOptions) -> float:
    """One of the processing times, by the topic's name and the seed."""
    digest = hashlib.sha256(f"{options.seed} {topic}".encode()).digest()
    choices = options.processing_ms
    return choices[int.from_bytes(digest[:8], "big") % len(choices)]


def sample_names(exchange: Exchange) -> list[bytes]:
    """Names of some taxis, from all buckets."""
    most = max(1, _SAMPLE // exchange.buckets.data)

    def some(bucket: int, items: Iterator[Trips]) -> Iterator[bytes]:
        found: list[bytes] = []
        for trips in items:
            text, offsets = trips.data.tobytes(), trips.offsets()
            step = max(1, len(trips.begin) // most)
            chosen = range(0, len(trips.begin), step)
            found += [text[offsets[i] : offsets[i + 1]] for i in chosen]
        yield from found[:: max(1, len(found) // most)]

    return exchange.read(some)


def spread_interests(
    exchange: Exchange, drive: Drive, topics: "Broadcast[RegionTopics]", bounds: Names
) -> Exchange:
    """A taxi wants the update topics of the regions it comes through, the service all
    gps topics: as runs of pairs, by ranges of names."""

    def walk(lots: Iterator[Trips]) -> Iterator[Emitted]:
        for trips in lots:
            yield from _wanted(trips, drive, topics.value, bounds)

    gps = topics.value.gps
    name = np.frombuffer(SERVICE, np.uint8)
    one = np.array([len(gps)], np.int32)
    service = WantedPairs(name, np.array([len(name)], np.int16), one, gps)
    to = _ranges(name, np.array([0, len(name)]), bounds)
    more = [(int(to[0]), service)] if len(gps) else []
    return spread(exchange, walk, len(bounds) + 1, *more)


def _wanted(
    trips: Trips, drive: Drive, topics: RegionTopics, bounds: Names
) -> Iterator[Emitted]:
    trip, key, _, _ = drive.stays(trips)
    wanted = topics.update_of[np.searchsorted(topics.keys, key)]
    who, counts = np.unique(trip, return_counts=True)  # trips ascend
    first = np.cumsum(counts) - counts
    offsets = trips.offsets()
    to = _ranges(trips.data, offsets, bounds)[who]
    order, cuts = counting_order(to, len(bounds) + 1)
    for bucket in range(len(bounds) + 1):
        chosen = order[cuts[bucket] : cuts[bucket + 1]]
        if len(chosen):
            taxis = who[chosen]
            data, _ = kernels.gather(trips.data, offsets[taxis], offsets[taxis + 1])
            yield (
                bucket,
                WantedPairs(
                    data,
                    trips.lengths[taxis].astype(np.int16),
                    counts[chosen].astype(np.int32),
                    gather_slices(wanted, first[chosen], counts[chosen]),
                ),
            )


def _ranges(data: Any, offsets: Int64s, bounds: Names) -> Int32s:
    return kernels.range_buckets(
        read_only(data), offsets[:-1], offsets[1:], bounds.data, bounds.offsets
    )
