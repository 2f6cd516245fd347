"""What the benchmark of channels asks about: records, shelters, who subscribes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from brokerwise.runtime.data_cluster.records import arrow_schema
from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)

Values = tuple[str | int, ...]  # of a subscription's parameters

SEED = 1
SIZES = (10, 1_000, 100_000)
TYPES, CELLS, CITY_METRES = 10, 100, 10_000  # cells along each side
SHELTERS, SHELTER_METRES = 200, 2_000  # how far one may be, along each axis
REAL_METRES = 50_000
DEGREE_METRES = 111_320
HOURS = 7 * 24


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType(kind)) for name, kind in types.items())


DATASETS = {
    "reports": Dataset(
        "reports",
        DatasetKind.APPEND,
        _columns(
            report="string",
            type="string",
            area="string",
            hour="long",  # of the week
            x="double",  # metres
            y="double",
            text="string",
        ),
    ),
    "shelters": Dataset(
        "shelters",
        DatasetKind.STATIC,
        _columns(shelter="string", x="double", y="double"),
    ),
}
PARAMETERS = _columns(type="string", area="string", hour="long")


def plain(parameters: Sequence[Column]) -> Channel:
    """Asks for the reports that have these values."""
    return Channel(
        "plain",
        f"SELECT r.report, r.text FROM reports r WHERE {_condition(parameters)}",
        60.0,
        tuple(parameters),
    )


def enriched(parameters: Sequence[Column], metres: int) -> Channel:
    """The same with the nearest shelters, which a query of reports and shelters alone
    finds, so that it is done once for all subscriptions."""
    sql = f"""\
SELECT r.report, r.text, r.shelters
FROM (
  SELECT q.report, q.type, q.area, q.hour, q.text,
         slice(sort_array(collect_list(
           CASE WHEN s.shelter IS NOT NULL THEN named_struct(
             'metres', CAST(floor(sqrt(
               (q.x - s.x) * (q.x - s.x) + (q.y - s.y) * (q.y - s.y))) AS BIGINT),
             'shelter', s.shelter) END)), 1, 3) AS shelters
  FROM reports q
  LEFT JOIN shelters s
    ON s.x BETWEEN q.x - {metres} AND q.x + {metres}
   AND s.y BETWEEN q.y - {metres} AND q.y + {metres}
  GROUP BY q.report, q.type, q.area, q.hour, q.text
) r
WHERE {_condition(parameters)}
"""
    name = f"enriched_{len(parameters)}"  # of each name there is one
    return Channel(name, sql, 60.0, tuple(parameters))


def _condition(parameters: Sequence[Column]) -> str:
    return " AND ".join(f"r.{p.name} = :{p.name}" for p in parameters)


@dataclass(frozen=True)
class World:
    """What there is to ask about."""

    reports: pa.Table
    shelters: pa.Table


@dataclass(frozen=True)
class Case:
    """A channel and who subscribes: the first so many of those that want something.
    No two want the same."""

    benchmark: str
    channel: Channel
    wanted: tuple[Values, ...]
    sizes: tuple[int, ...]


def city(records: int, types: int = TYPES, cells: int = CELLS) -> World:
    """Reports all over a city, every pair of type and cell being equally likely."""
    draw = np.random.default_rng(SEED)
    x, y = draw.integers(0, CITY_METRES, (2, records))
    side = CITY_METRES // cells
    reports = {
        "report": [f"report-{n}" for n in range(records)],
        "type": [f"type-{n}" for n in draw.integers(0, types, records)],
        "area": [f"cell-{a}-{b}" for a, b in zip(x // side, y // side, strict=True)],
        "hour": draw.integers(0, HOURS, records),
        "x": x.astype(float),
        "y": y.astype(float),
        "text": [draw.bytes(100).hex() for _ in range(records)],
    }
    a, b = draw.integers(0, CITY_METRES, (2, SHELTERS)).astype(float)
    shelters = {"shelter": [f"shelter-{n}" for n in range(SHELTERS)], "x": a, "y": b}
    return World(_table("reports", reports), _table("shelters", shelters))


def city_cases(
    sizes: Sequence[int] = SIZES, types: int = TYPES, cells: int = CELLS
) -> list[Case]:
    """With shelters and without. There are types * cells^2 different wishes."""
    areas = [f"cell-{a}-{b}" for a, b in product(range(cells), repeat=2)]
    wanted = _shuffled(product([f"type-{n}" for n in range(types)], areas))
    with_shelters = enriched(PARAMETERS[:2], SHELTER_METRES)
    return [
        Case("channels enriched", with_shelters, wanted, tuple(sizes)),
        Case("channels plain", plain(PARAMETERS[:2]), wanted, tuple(sizes)),
    ]


def real_world(incidents: Path, shelters: Path) -> World:
    """Incidents and shelters from files; a shelter without a place is left out.
    Degrees become metres as they are in the middle of the incidents."""
    found = csv.read_csv(incidents)
    refuges = csv.read_csv(shelters)
    has_place = pc.and_(pc.is_valid(refuges["lat"]), pc.is_valid(refuges["lon"]))
    refuges = refuges.filter(has_place)
    middle = pc.mean(found["lat"]).as_py()
    said = found["reported_at_local"].to_pylist()
    reports = {
        "report": found["incident_id"].cast(pa.string()),
        "type": found["type"],
        "area": found["dispatch_center"],
        "hour": [_hour(text) for text in said],
        **_metres(found, middle),
        "text": said,
    }
    names = refuges[0].cast(pa.string())
    places = {"shelter": names, **_metres(refuges, middle)}
    return World(_table("reports", reports), _table("shelters", places))


def real_cases(world: World, most: int = SIZES[-1]) -> list[Case]:
    """All pairs of center and type, and up to so many of them with an hour."""
    pairs = world.reports.group_by(["type", "area"]).aggregate([])
    wanted = sorted(
        zip(pairs["type"].to_pylist(), pairs["area"].to_pylist(), strict=True)
    )
    hourly = _shuffled((*pair, hour) for pair in wanted for hour in range(HOURS))
    by_pair = enriched(PARAMETERS[:2], REAL_METRES)
    by_hour = enriched(PARAMETERS, REAL_METRES)
    few, most = min(SIZES[0], len(wanted)), min(most, len(hourly))
    return [
        Case("channels incidents", by_pair, _shuffled(wanted), (few, len(wanted))),
        Case("channels incidents by hour", by_hour, hourly, (most,)),
    ]


def _hour(text: str) -> int:
    at = datetime.strptime(text, "%b %d %Y %I:%M%p")
    return at.weekday() * 24 + at.hour


def _metres(places: pa.Table, middle: float) -> dict[str, pa.ChunkedArray]:
    east = DEGREE_METRES * math.cos(math.radians(middle))
    return {
        "x": pc.round(pc.multiply(places["lon"], east)),
        "y": pc.round(pc.multiply(places["lat"], float(DEGREE_METRES))),
    }


def _table(dataset: str, columns: dict[str, object]) -> pa.Table:
    return pa.table(columns, schema=arrow_schema(DATASETS[dataset]))


def _shuffled(wanted: Iterable[Values]) -> tuple[Values, ...]:
    values = list(wanted)
    order = np.random.default_rng(SEED).permutation(len(values))
    return tuple(values[place] for place in order)
