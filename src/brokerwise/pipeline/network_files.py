"""Brokers and users as people write them: small tables with a line each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import INT64_MAX, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.pipeline.network_text import Row, read_named_rows
from brokerwise.storage.place import Place

_COORDINATE = re.compile(r"[xyz]|x[0-9]+", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, eq=False)
class Members:
    """Brokers, or users, in the order of the bytes of their names.

    Attributes
    ----------
    lines
        On which line of the file each is.
    capacity
        Of brokers; 0 for users, who have none.
    points, coordinates
        Where each is, and what these columns are called.
    sites
        The site of each in a latency matrix.
    known
        Of users: the brokers that each knows by name; none named means all.
    """

    file: str
    names: Names
    lines: tuple[int, ...]
    capacity: Int64s
    points: Float64s | None = None
    coordinates: tuple[str, ...] = ()
    sites: tuple[str, ...] | None = None
    known: tuple[tuple[str, ...], ...] | None = None

    def where(self, number: int) -> str:
        """The line of one of them, for errors."""
        return f"{self.file} line {self.lines[number]:,}"


def read_brokers(place: Place) -> Members:
    """Brokers: name, capacity, and x, y, ... or a site."""
    columns, rows = read_named_rows(place, ("name", "capacity"))
    if not rows:
        raise InputError(f"{place}: found no broker, expected at least one")
    return _members(place, columns, rows, capacity=_capacities(rows))


def read_users(place: Place) -> Members:
    """Users: name, and x, y, ... or a site, and perhaps the brokers that each knows,
    separated by semicolons."""
    columns, rows = read_named_rows(place, ("name",))
    if "brokers" not in columns:
        return _members(place, columns, rows)
    known = (row.cells["brokers"].split(";") for row in rows)
    names = (tuple(name.strip() for name in some if name.strip()) for some in known)
    return _members(place, columns, rows, known=tuple(names))


def _members(
    place: Place,
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    capacity: Int64s | None = None,
    known: tuple[tuple[str, ...], ...] | None = None,
) -> Members:
    coordinates = tuple(name for name in columns if _COORDINATE.fullmatch(name))
    points = np.array([[row.number(name) for name in coordinates] for row in rows])
    located = bool(coordinates)
    sited = "site" in columns
    return Members(
        str(place),
        Names.of(row.cells["name"] for row in rows),
        tuple(row.line for row in rows),
        np.zeros(len(rows), np.int64) if capacity is None else capacity,
        points.reshape(len(rows), len(coordinates)) if located else None,
        coordinates,
        tuple(row.text("site") for row in rows) if sited else None,
        known,
    )


def _capacities(rows: Sequence[Row]) -> Int64s:
    capacities = []
    for row in rows:
        text = row.cells["capacity"]
        if not _COUNT.fullmatch(text) or int(text) > INT64_MAX:
            raise row.error("capacity", "a whole number of messages (or bytes)")
        capacities.append(int(text))
    return np.array(capacities, np.int64)
