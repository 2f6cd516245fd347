"""What datasets and channels are. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from brokerwise.model.errors import InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
MAX_COLUMNS = 200
MAX_SQL_LENGTH = 20_000
SHORTEST_PERIOD, LONGEST_PERIOD = 1.0, 86_400.0  # seconds


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
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{what}: found the name {name[:80]!r}, expected letters, digits and _, a "
            "letter first, at most 63"
        )


def _check_distinct(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} {name!r} is there twice")
