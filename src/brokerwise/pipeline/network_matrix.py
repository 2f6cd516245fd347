"""Matrices of link costs as people write them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import MOST_COST, THOUSANDTHS
from brokerwise.pipeline.network_text import finite, refuse_twice, text_lines
from brokerwise.storage.place import Place

_MOST = MOST_COST // THOUSANDTHS


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
