"""Brokers, users and matrices of link costs as people write them: small text tables.

Everything wrong with a file is an InputError that names the file and the line.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from brokerwise.model.arrays import INT64_MAX, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import MAX_NAME_BYTES, Names
from brokerwise.model.network import MOST_COST, THOUSANDTHS
from brokerwise.storage.place import Place

_COORDINATE = re.compile(r"[xyz]|x[0-9]+", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,19}", re.ASCII)
_MOST = MOST_COST // THOUSANDTHS


@dataclass(frozen=True)
class Row:
    """A line of a table; cells by column."""

    file: str
    line: int
    cells: dict[str, str]

    def error(self, column: str, expected: str) -> InputError:
        found = self.cells.get(column, "")
        return InputError(
            f"{self.file} line {self.line:,}: {column} is {found!r}, "
            f"expected {expected}"
        )

    def number(self, column: str) -> float:
        value = finite(self.cells[column])
        if value is None:
            raise self.error(column, "a number")
        return value

    def text(self, column: str) -> str:
        """What is in a cell that must not be empty."""
        cell = self.cells[column]
        if not 0 < len(cell.encode()) <= MAX_NAME_BYTES:
            raise self.error(column, f"a name of 1 to {MAX_NAME_BYTES:,} bytes")
        return cell


def read_named_rows(
    place: Place, required: Sequence[str]
) -> tuple[list[str], list[Row]]:
    """The columns that the first line names, and the rows in the order of the bytes
    of their `name`, which must differ. Other columns than the `required` are kept."""
    lines = text_lines(place)
    _, columns = next(lines, (0, list[str]()))
    for name in required:
        if name not in columns:
            raise InputError(
                f"{place}: no column {name}; its first line is {','.join(columns)!r}"
            )
    refuse_twice(place, "column", columns)
    rows = []
    for line, cells in lines:
        if len(cells) != len(columns):
            raise InputError(
                f"{place} line {line:,}: {len(cells):,} columns, expected "
                f"{len(columns):,} ({','.join(columns)})"
            )
        rows.append(Row(str(place), line, dict(zip(columns, cells, strict=True))))
    rows.sort(key=lambda row: row.text("name").encode())
    refuse_twice(place, "name", [row.cells["name"] for row in rows])
    return columns, rows


def text_lines(place: Place) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not blank, with their numbers, cut into cells without blanks
    around them: at tabs if the first line has one, else at commas, else at blanks."""
    lines = _text(place).split("\n")
    first = next((line for line in lines if line.strip()), "")
    mark = "\t" if "\t" in first else ","
    words = mark not in first and len(first.split()) > 1
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        cells = line.split() if words else next(csv.reader([line], delimiter=mark))
        yield number, [cell.strip() for cell in cells]


def _text(place: Place) -> str:
    try:
        content = place.read()
        if place.uri.partition("?")[0].lower().endswith(".gz"):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except FileNotFoundError as cause:
        raise InputError(f"{place} does not exist") from cause
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise InputError(f"{place} is not a whole gzip file: {cause}") from cause
    except UnicodeDecodeError as cause:
        line = content[: cause.start].count(b"\n") + 1
        raise InputError(f"{place} line {line:,}: not valid UTF-8") from cause
    except OSError as cause:
        raise InputError(f"{place} cannot be read: {cause}") from cause


def finite(text: str) -> float | None:
    """A finite number, or None. Not all that Python takes for one: no 1_000."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and "_" not in text else None


def refuse_twice(place: Place, what: str, names: Sequence[str]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise InputError(f"{place}: {what} {name!r} is there twice")
        seen.add(name)


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


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """Costs as they were read, NaN in empty cells. Rows and columns of a table of
    numbers alone, which is not `named`, are called 0, 1, ... `lines` has the line of
    each row."""

    file: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    costs: Float64s
    named: bool
    lines: tuple[int, ...]


def read_cost_matrix(place: Place) -> CostMatrix:
    """A matrix with names in its first line and its first column, or of numbers
    alone. An empty cell is a link that is not there."""
    lines = list(text_lines(place))
    if not lines:
        raise InputError(f"{place} is empty, expected a matrix of costs")
    first = lines[0][1]
    named = finite(first[0]) is None
    if named:
        columns = tuple(first[1:])
        rows = tuple(cells[0] for _, cells in lines[1:])
        lines = [(line, cells[1:]) for line, cells in lines[1:]]
    else:
        columns = tuple(map(str, range(len(first))))
        rows = tuple(map(str, range(len(lines))))
    refuse_twice(place, "row", rows)
    refuse_twice(place, "column", columns)
    costs = np.empty((len(rows), len(columns)))
    for number, (line, cells) in enumerate(lines):
        if len(cells) != len(columns):
            raise InputError(
                f"{place} line {line:,}: {len(cells):,} costs, expected "
                f"{len(columns):,}"
            )
        costs[number] = [
            _cost(place, line, column, cell)
            for column, cell in zip(columns, cells, strict=True)
        ]
    where = tuple(line for line, _ in lines)
    return CostMatrix(str(place), rows, columns, costs, named, where)


def _cost(place: Place, line: int, column: str, cell: str) -> float:
    value = finite(cell) if cell else np.nan
    if value is None or value < 0 or value > _MOST:
        raise InputError(
            f"{place} line {line:,}: column {column} is {cell!r}, expected a number "
            f"from 0 to {_MOST:,}",
            hint="Leave the cell of a link that is not there, or not known, empty.",
        )
    return value


def read_latency(place: Place) -> CostMatrix:
    """Latencies between sites: a square matrix, columns put in the order of rows.

    No message takes no time: 0 between two sites is a gap, like an empty cell.
    """
    matrix = square(read_cost_matrix(place))
    apart = ~np.eye(len(matrix.rows), dtype=np.bool_)
    unknown = (matrix.costs == 0) & apart
    return replace(matrix, costs=np.where(unknown, np.nan, matrix.costs))


def square(matrix: CostMatrix) -> CostMatrix:
    """The matrix with its columns in the order of its rows, whose names they have."""
    if len(matrix.rows) != len(matrix.columns):
        raise InputError(
            f"{matrix.file}: found {len(matrix.rows):,} rows and "
            f"{len(matrix.columns):,} columns, expected a square matrix"
        )
    costs = matched(matrix, rows=("row", matrix.rows), columns=("row", matrix.rows))
    return replace(matrix, columns=matrix.rows, costs=costs)


def matched(
    matrix: CostMatrix,
    *,
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
) -> Float64s:
    """Costs for these rows and columns, in their order.

    Each comes with what it is called. A table of numbers alone must have the right
    size and is in that order. Raises InputError for a name that only one side has.
    """
    picked = [
        _places(matrix, "row", matrix.rows, *rows),
        _places(matrix, "column", matrix.columns, *columns),
    ]
    return np.asarray(matrix.costs[np.ix_(*picked)], np.float64)


def _places(
    matrix: CostMatrix, kind: str, found: Sequence[str], what: str, names: Sequence[str]
) -> list[int]:
    """Where the names are among those that were found, which must be the same."""
    if not matrix.named:
        if len(found) != len(names):
            raise InputError(
                f"{matrix.file}: found {len(found):,} {kind}s, expected one for each "
                f"of {len(names):,} {what}s"
            )
        return list(range(len(names)))
    places = {name: place for place, name in enumerate(found)}
    missing = [name for name in names if name not in places]
    if missing:
        raise InputError(
            f"{matrix.file}: no {kind} for {what} {missing[0]!r}" + _others(missing)
        )
    strange = sorted(places.keys() - set(names))
    if strange:
        raise InputError(
            f"{matrix.file}: {kind} {strange[0]!r} is no {what}" + _others(strange)
        )
    return [places[name] for name in names]


def _others(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1:,} more)" if len(names) > 1 else ""
