"""Small text tables: UTF-8, separated by commas or tabs, plain or gzip.

Everything wrong with a file is an InputError that names the file and the line.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.names import MAX_NAME_BYTES
from brokerwise.storage.place import Place


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
