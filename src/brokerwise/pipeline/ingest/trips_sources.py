"""The files of trips and of zones, and where their columns are."""

from dataclasses import dataclass, replace

import numpy as np

from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.pipeline.ingest.columns import Reading, column_names, with_columns
from brokerwise.pipeline.ingest.rejected import refuse_bad
from brokerwise.pipeline.ingest.rows import read_rows
from brokerwise.pipeline.ingest.sources import Kind, Source, find_sources
from brokerwise.pipeline.ingest.splits import split_sources
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.ingest.trips_options import TripOptions

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
