"""The regions that taxis come through: how many positions, and who is there."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark import Broadcast

from brokerwise.kernels import names as kernels
from brokerwise.kernels.lists import counting_order, gather_slices
from brokerwise.kernels.trips import most_at_once, visits
from brokerwise.model.arrays import Int32s, Int64s, read_only
from brokerwise.model.grid import Grid, key_names
from brokerwise.model.names import Names
from brokerwise.pipeline.ingest.exchange import Buckets, Emitted, Exchange
from brokerwise.pipeline.ingest.pairs import Wanted
from brokerwise.pipeline.ingest.trips_options import TripOptions, Window
from brokerwise.pipeline.ingest.trips_rows import Trips
from brokerwise.pipeline.ingest.trips_survey import inside

GPS, UPDATE = "gps/", "update/"
SERVICE = b"service"
_SAMPLE = 1024
_Use = Callable[[Iterator[Trips]], Iterator[Emitted]]


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
    service = Wanted(name, np.array([len(name)], np.int16), one, gps)
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
                Wanted(
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
