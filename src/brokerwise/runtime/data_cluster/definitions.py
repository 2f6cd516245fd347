"""What datasets and channels are, and the values of their columns and parameters. Pure.

Decided here: which names, columns, keys, periods and lengths of SQL are allowed
(`Dataset`, `Channel`), what a timestamp is (`microseconds`), and what values a
subscription may give to a channel's parameters (`parameter_values`).

A timestamp is a text as in ISO 8601: a date, or a date and a time of day after T or a
space, with Z, an offset, or nothing, which is UTC; or milliseconds since 1970. It is
kept as whole microseconds since 1970, in UTC; what is finer is cut off.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from brokerwise.model.errors import InputError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
NAME_RULE = "letters, digits and _, a letter first, at most 63"
MAX_COLUMNS = 200
MAX_SQL_LENGTH = 20_000
SHORTEST_PERIOD, LONGEST_PERIOD = 1.0, 86_400.0  # seconds
_FORM = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
ParameterValue = str | int | float | bool
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_MILLISECONDS = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,3})?")


class DatasetKind(StrEnum):
    """append: a channel sees the records since its last run; keyed: the latest of
    each key; static: all."""

    APPEND = "append"
    KEYED = "keyed"
    STATIC = "static"


class ColumnType(StrEnum):
    """What a column or a parameter holds. Timestamps are texts as in ISO 8601, or
    milliseconds since 1970."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Column:
    """Of a dataset, or a parameter of a channel."""

    name: str
    type: ColumnType

    def __post_init__(self) -> None:
        check_name("column", self.name)


@dataclass(frozen=True)
class Dataset:
    """`key` is the column that a keyed dataset has the latest record of each value
    of; empty for the other kinds."""

    name: str
    kind: DatasetKind
    columns: tuple[Column, ...]
    key: str = ""

    def __post_init__(self) -> None:
        check_name("dataset", self.name)
        names = [column.name.lower() for column in self.columns]
        if not 0 < len(names) <= MAX_COLUMNS:
            raise InputError(
                f"dataset {self.name!r}: found {len(names)} columns, expected 1 to "
                f"{MAX_COLUMNS}"
            )
        _check_distinct(f"dataset {self.name!r}: column", names)
        if self.kind is DatasetKind.KEYED:
            if self.key not in {column.name for column in self.columns}:
                raise InputError(
                    f"dataset {self.name!r}: found key {self.key!r}, expected one of "
                    f"its columns"
                )
        elif self.key:
            raise InputError(
                f"dataset {self.name!r}: found key {self.key!r}, but it is "
                f"{self.kind}: only keyed datasets have one"
            )


@dataclass(frozen=True)
class Channel:
    """A question that is asked again each period (seconds), for all subscriptions at
    once. `sql` has its parameters as :name."""

    name: str
    sql: str
    parameters: tuple[Column, ...]
    period: float

    def __post_init__(self) -> None:
        check_name("channel", self.name)
        names = [column.name.lower() for column in self.parameters]
        _check_distinct(f"channel {self.name!r}: parameter", names)
        if not SHORTEST_PERIOD <= self.period <= LONGEST_PERIOD:
            raise InputError(
                f"channel {self.name!r}: found a period of {self.period:g} s, expected "
                f"{SHORTEST_PERIOD:g} to {LONGEST_PERIOD:g}"
            )
        if len(self.sql) > MAX_SQL_LENGTH:
            raise InputError(
                f"channel {self.name!r}: the SQL has {len(self.sql):,} characters, "
                f"expected at most {MAX_SQL_LENGTH:,}"
            )


def check_name(what: str, name: str) -> None:
    """Names of datasets, columns, channels and parameters go into SQL."""
    if not NAME.fullmatch(name):
        raise InputError(f"{what}: found the name {name[:80]!r}, expected {NAME_RULE}")


def _check_distinct(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} {name!r} is there twice")


def microseconds(value: str | float) -> int:
    """Since 1970. Raises ValueError if it is no timestamp, or not of the years 1 to
    9999."""
    micros = _from_text(value) if isinstance(value, str) else round(value * 1000)
    if not _FIRST <= micros <= _LAST:
        raise ValueError(value)
    return micros


def _from_text(text: str) -> int:
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


EXPECTED_VALUE = {
    ColumnType.STRING: "a string",
    ColumnType.LONG: "a whole number of at most 64 bits",
    ColumnType.DOUBLE: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.TIMESTAMP: (
        'a timestamp as "2024-05-01T12:30:00Z", or milliseconds since 1970'
    ),
}


def parameter_values(
    channel: Channel, texts: Mapping[str, str]
) -> tuple[ParameterValue, ...]:
    """One for each parameter, in the channel's order; timestamps are texts, in UTC.
    Raises InputError for one that is missing, unknown or of the wrong type."""
    known = [parameter.name for parameter in channel.parameters]
    what = f"channel {channel.name!r}"
    for name in texts:
        if name not in known:
            raise InputError(
                f"{what}: found the parameter {name[:80]!r}, expected "
                + (", ".join(known) or "none")
            )
    for name in known:
        if name not in texts:
            raise InputError(f"{what}: the parameter {name!r} is missing")
    return tuple(_parameter_value(what, p, texts[p.name]) for p in channel.parameters)


def _parameter_value(what: str, parameter: Column, text: str) -> ParameterValue:
    try:
        return _parse_value(parameter.type, text)
    except (KeyError, ValueError, OverflowError):
        raise InputError(
            f"{what}: parameter {parameter.name!r}: found {text[:80]!r}, expected "
            f"{EXPECTED_VALUE[parameter.type]}"
        ) from None


def _parse_value(type_: ColumnType, text: str) -> ParameterValue:
    match type_:
        case ColumnType.STRING:
            return text
        case ColumnType.LONG:
            return _long(text)
        case ColumnType.DOUBLE:
            return _double(text)
        case ColumnType.BOOLEAN:
            return {"true": True, "false": False}[text]
        case ColumnType.TIMESTAMP:
            return _timestamp(text)


def _long(text: str) -> int:
    if not _WHOLE.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(text)
    return int(text)


def _double(text: str) -> float:
    """NaN and infinity are no values: nothing is near them."""
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def _timestamp(text: str) -> str:
    """The same moment is always the same text."""
    value: str | float = text
    if _MILLISECONDS.fullmatch(text):
        value = float(text) if "." in text else int(text)
    since = timedelta(microseconds=microseconds(value))
    return (_EPOCH + since).isoformat().replace("+00:00", "Z")
