"""Catalogs of broker types: the one that comes with the program, or a user's file."""

import csv
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from brokerwise.model.catalog import Catalog, Offer, checked_type_name
from brokerwise.model.errors import InputError
from brokerwise.model.units import parse_capacity
from brokerwise.storage.place import Place

_SIZES = ("bandwidth", "capacity")
_COLUMNS = ("type", "hour_usd", *_SIZES, "count", "source")
_HEADER = "type,hour_usd,bandwidth or type,hour_usd,capacity"
_PRICE = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?")
_COUNT = re.compile(r"0*[1-9][0-9]{0,17}")


@cache
def shipped_catalog() -> Catalog:
    """The paper's two types, and current ones of one region of Amazon EC2."""
    text = files("brokerwise.storage").joinpath("catalog.csv").read_text("utf-8")
    return parse_catalog(text, "the shipped catalog")


def read_catalog(place: Place) -> Catalog:
    """A user's own catalog: CSV, see `parse_catalog`."""
    try:
        text = place.read().decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise InputError(f"{place}: found bytes that are not UTF-8") from cause
    except OSError as cause:
        raise InputError(f"{place} cannot be read: {cause}") from cause
    return parse_catalog(text, str(place))


def parse_catalog(text: str, name: str) -> Catalog:
    """A catalog from CSV with a header: `type`, `hour_usd`, and either `bandwidth`
    (`64Mbit/s`) or `capacity` (messages per period); `count` and `source` if wanted.

    Blank lines, and lines that start with #, are skipped. Anything else that is not
    understood is an error that names the line and the column.
    """
    rows = _rows(text, name)
    line, header = next(rows, (0, []))
    if not header:
        raise InputError(f"{name} is empty, expected a first line {_HEADER}")
    columns = _columns(header, f"{name}, line {line}")
    offers: dict[str, Offer] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        at = f"{name}, line {line}"
        if len(cells) != len(columns):
            raise InputError(
                f"{at}: found {len(cells)} columns, expected {len(columns)} "
                f"({','.join(columns)})"
            )
        offer = _offer(dict(zip(columns, cells, strict=True)), at)
        if offer.name in offers:
            raise InputError(
                f"{at}, column type: found {offer.name!r} again, "
                f"it is in line {lines[offer.name]} already"
            )
        offers[offer.name], lines[offer.name] = offer, line
    if not offers:
        raise InputError(f"{name}: found no line after the header, expected a type")
    return Catalog(tuple(offers.values()), name=name)


def _rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that has any."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            cells = next(csv.reader([line], strict=True))
        except csv.Error as cause:
            raise InputError(f"{name}, line {number}: {cause}") from cause
        yield number, [cell.strip() for cell in cells]


def _columns(header: list[str], at: str) -> list[str]:
    columns = [column.lower() for column in header]
    for column in columns:
        if column not in _COLUMNS:
            raise InputError(
                f"{at}: found column {column!r}, expected {', '.join(_COLUMNS)}",
                hint=f"The first line names the columns, such as {_HEADER}.",
            )
        if columns.count(column) > 1:
            raise InputError(f"{at}: found column {column!r} twice")
    for column in ("type", "hour_usd"):
        if column not in columns:
            raise InputError(f"{at}: column {column!r} is missing, expected {_HEADER}")
    sizes = [column for column in _SIZES if column in columns]
    if len(sizes) != 1:
        found = "both" if sizes else "neither"
        raise InputError(
            f"{at}: found {found} of the columns bandwidth and capacity, expected one"
        )
    return columns


def _offer(row: Mapping[str, str], at: str) -> Offer:
    name = checked_type_name(row["type"], f"{at}, column type")
    hour_usd = _hour_usd(row["hour_usd"], f"{at}, column hour_usd")
    column = next(column for column in _SIZES if column in row)
    size = _size(column, row[column], f"{at}, column {column}")
    count = _count(row.get("count", ""), f"{at}, column count")
    return Offer(name, hour_usd, size, count, row.get("source", ""))


def _hour_usd(text: str, field: str) -> float:
    if not _PRICE.fullmatch(text):
        raise InputError(
            f"{field}: found {text!r}, expected zero or more dollars such as 0.15"
        )
    return float(text)


def _count(text: str, field: str) -> int | None:
    """How many there are; nothing is without limit."""
    if text and not _COUNT.fullmatch(text):
        raise InputError(
            f"{field}: found {text!r}, expected a whole number from 1 up, "
            "or nothing for no limit"
        )
    return int(text) if text else None


def _size(column: str, text: str, field: str) -> str:
    expected, hint = "a whole number of messages per period from 1 up", ""
    if column == "bandwidth":
        expected = "a bandwidth above zero in bit/s, kbit/s, Mbit/s or Gbit/s"
    elif "bit" in text:
        hint = "A bandwidth goes in a column that is named bandwidth."
    wrong = InputError(f"{field}: found {text!r}, expected {expected}", hint=hint)
    if text.endswith("bit/s") != (column == "bandwidth"):
        raise wrong
    try:
        parse_capacity(text, 8, 1)
    except InputError as cause:
        raise wrong from cause
    return text
