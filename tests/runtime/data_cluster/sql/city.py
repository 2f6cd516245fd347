"""Datasets that the tests of channel SQL ask about."""

import re

from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)

PARAMETERS = {
    "type": ColumnType.STRING,
    "user": ColumnType.STRING,
    "radius": ColumnType.DOUBLE,
    "n": ColumnType.LONG,
    "since": ColumnType.TIMESTAMP,
    "flag": ColumnType.BOOLEAN,
}
_NAMED = re.compile(r":(\w+)")


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType(kind)) for name, kind in types.items())


REPORTS = Dataset(
    "reports",
    DatasetKind.APPEND,
    columns(
        id="string",
        type="string",
        severity="long",
        x="double",
        y="double",
        at="timestamp",
        open="boolean",
    ),
)
SHELTERS = Dataset(
    "shelters",
    DatasetKind.STATIC,
    columns(name="string", x="double", y="double", beds="long"),
)
USERS = Dataset(
    "users", DatasetKind.KEYED, columns(user="string", x="double", y="double"), "user"
)
DATASETS = {dataset.name: dataset for dataset in (REPORTS, SHELTERS, USERS)}


def channel(sql: str) -> Channel:
    """A channel that declares the parameters of PARAMETERS that it uses."""
    used = set(_NAMED.findall(sql))
    declared = [Column(n, kind) for n, kind in PARAMETERS.items() if n in used]
    return Channel("c", sql, 10.0, tuple(declared))
