"""Trip records, read once: the good ones as arrays, spread over tasks."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from brokerwise.kernels import names as kernels
from brokerwise.kernels.lists import counting_order
from brokerwise.model.arrays import Bools, Bytes, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.pipeline.ingest.columns import Reading, column_names, with_columns
from brokerwise.pipeline.ingest.exchange import Buckets, Emitted
from brokerwise.pipeline.ingest.options import TripOptions
from brokerwise.pipeline.ingest.reasons import (
    BACKWARDS,
    ENDLESS,
    FAR,
    NO_ZONE,
    NOWHERE,
    Rejects,
    Tally,
)
from brokerwise.pipeline.ingest.rejects import refuse_bad
from brokerwise.pipeline.ingest.rows import Rows, read_rows
from brokerwise.pipeline.ingest.sources import Kind, Source, find_sources, split_sources
from brokerwise.pipeline.ingest.topics import Dictionary

TIMES = ("pickup_time", "dropoff_time")
POINTS = ("pickup_lon", "pickup_lat", "dropoff_lon", "dropoff_lat")
ZONES = ("pickup_zone", "dropoff_zone")
_COLUMNS = "--trips-columns"
TRIPS = Kind(
    "trips", (*TIMES, *POINTS), ("taxi",), decimals=POINTS, columns_option=_COLUMNS
)
TRIPS_BY_ZONE = Kind("trips", (*TIMES, *ZONES), ("taxi",), columns_option=_COLUMNS)
_PLACES = ("lon", "lat")
_ZONE_FILE = Kind("zones", ("zone", *_PLACES), decimals=_PLACES)
# As the files of the New York Taxi and Limousine Commission call them.
_KNOWN_AS = {
    "taxi": ("taxi", "taxi_id", "medallion"),
    "pickup_time": (
        *("pickup_time", "pickup_datetime"),
        *("tpep_pickup_datetime", "lpep_pickup_datetime"),
    ),
    "dropoff_time": (
        *("dropoff_time", "dropoff_datetime"),
        *("tpep_dropoff_datetime", "lpep_dropoff_datetime"),
    ),
    "pickup_lon": ("pickup_lon", "pickup_longitude"),
    "pickup_lat": ("pickup_lat", "pickup_latitude"),
    "dropoff_lon": ("dropoff_lon", "dropoff_longitude"),
    "dropoff_lat": ("dropoff_lat", "dropoff_latitude"),
    "pickup_zone": ("pickup_zone", "PULocationID"),
    "dropoff_zone": ("dropoff_zone", "DOLocationID"),
    "zone": ("LocationID", "zone"),
    "lon": ("lon", "longitude"),
    "lat": ("lat", "latitude"),
}
# The columns of the DEBS 2015 Grand Challenge, whose files have no line of names.
_DEBS_WIDTH = 17
_DEBS = {
    "taxi": ("1",),
    "pickup_time": ("3",),
    "dropoff_time": ("4",),
    "pickup_lon": ("7",),
    "pickup_lat": ("8",),
    "dropoff_lon": ("9",),
    "dropoff_lat": ("10",),
}
TAXI, TRIP = b"taxi/", b"trip/"
_NAME_BYTES = 8  # of the digest that names a trip of nobody known
_MOST_DEGREES = (180, 90, 180, 90)


@dataclass(frozen=True, eq=False)
class Zones:
    """Where zones are."""

    dictionary: Dictionary
    lon: Float64s
    lat: Float64s


def find_trips(options: TripOptions) -> list[Source]:
    """The files of trips, each with its columns."""
    known = dict.fromkeys((*TRIPS.roles, *ZONES))
    for role in options.columns:
        if role not in known:
            raise InputError(
                f"{_COLUMNS}: found {role!r}, expected one of {', '.join(known)}"
            )
    kind = TRIPS if options.zones is None else TRIPS_BY_ZONE
    bare = Kind("trips", ())
    reading = Reading({}, False, options.format)
    found = find_sources(bare, options.trips, reading, 0)
    return [_with_columns(replace(s, kind=kind), options) for s in found]


def _with_columns(source: Source, options: TripOptions) -> Source:
    cells = column_names(source)
    known = {
        role: _present(_KNOWN_AS[role], cells, always=role in source.kind.required)
        for role in source.kind.roles
    }
    headless = source.delimited and not options.header and len(cells) == _DEBS_WIDTH
    told = {role: c for role, c in options.columns.items() if role in source.kind.roles}
    if headless and not told and not _is_named(cells) and options.zones is None:
        return with_columns(source, Reading(_DEBS, False, options.format))
    columns = {**{role: c for role, c in known.items() if c}, **told}
    if "taxi" not in columns:
        source = replace(source, kind=replace(source.kind, optional=()))
    return with_columns(source, Reading(columns, options.header, options.format))


def _present(
    names: tuple[str, ...], cells: list[str], *, always: bool
) -> tuple[str, ...]:
    """Of a role that a file may lack, no names if it does."""
    folded = {cell.casefold() for cell in cells}
    return names if always or folded.intersection(map(str.casefold, names)) else ()


def _is_named(cells: list[str]) -> bool:
    return any(_present(names, cells, always=False) for names in _KNOWN_AS.values())


def read_zones(path: str) -> Zones:
    """All zones, in memory; one in several rows, because it has several parts, is in
    the middle of them. Raises InputError for the first bad row."""
    columns = {role: _KNOWN_AS[role] for role in _ZONE_FILE.roles}
    sources = find_sources(_ZONE_FILE, [path], Reading(columns, True, None), 0)
    parts: dict[str, list[tuple[float, float]]] = {}
    for splits in split_sources(sources):
        for split in splits:
            for rows in read_rows(split):
                refuse_bad(split.source, rows.rejects)
                spans, text = rows.names["zone"], rows.buffer.tobytes()
                for i, (a, b) in enumerate(zip(spans.starts, spans.ends, strict=True)):
                    place = (rows.numbers["lon"][i], rows.numbers["lat"][i])
                    parts.setdefault(text[a:b].decode(), []).append(place)
    if not parts:
        raise InputError(f"{path} has no zone in it")
    places = np.array([np.mean(sorted(found), axis=0) for found in parts.values()])
    return Zones(Dictionary.of(Names.of(parts)), places[:, 0], places[:, 1])


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
        yield from self._buckets.rejected(rows, bad, reason, found, tally)
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
