"""Weights of topics and subscribers: as users give them, and as plans keep them.

A plan keeps those that differ from 1, one table for topics and one for subscribers.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.arrays import Int64s, whole_numbers
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.workload import MOST, Weights, Workload
from brokerwise.storage.place import Place

TABLES = {
    "topic_weights": pa.schema([("topic", pa.int32()), ("weight", pa.int64())]),
    "subscriber_weights": pa.schema(
        [("subscriber", pa.int64()), ("weight", pa.int64())]
    ),
}
"""The tables of a plan with weights, which has one of them at least."""

_WEIGHT = re.compile(r"0*[0-9]{1,7}", re.ASCII)


def read_weights(
    topics_file: Place | None, subscribers_file: Place | None, workload: Workload
) -> Weights:
    """Weights from CSV files of topic,weight and subscriber,weight lines.

    The first line may name the columns. Who is not in a file weighs 1. Raises
    InputError for a line that is not understood, for a name that the workload does
    not have, and for one that is there twice. O(topics + subscribers), in memory.
    """
    topics = subscribers = None
    if topics_file is not None:
        topics = _read_file(topics_file, "topic", workload.topic_names)
    if subscribers_file is not None:
        subscribers = _read_file(
            subscribers_file, "subscriber", workload.subscriber_names
        )
    return Weights(topics, subscribers)


def weight_tables(weights: Weights) -> dict[str, pa.Table]:
    """The tables of a plan with these weights: none if every pair counts its rate."""
    given = zip(TABLES, (weights.topics, weights.subscribers), strict=True)
    return {name: _table(TABLES[name], v) for name, v in given if v is not None}


def weighted(weights: Weights) -> dict[str, int]:
    """How many topics or subscribers each table is for: it does not name them all."""
    given = zip(TABLES, (weights.topics, weights.subscribers), strict=True)
    return {name: len(values) for name, values in given if values is not None}


def check_weighted(
    file: Place,
    *,
    tables: Mapping[str, str],
    digests: Mapping[str, str],
    weighted: Mapping[str, int],
) -> None:
    """Refuse a header in which not all of these know of a table, or none."""
    for table, number in weighted.items():
        if table not in TABLES or number < 0:
            raise InputError(
                f"{file}: weighted has {table!r} {number:,}, expected how many "
                f"{' and '.join(TABLES)} are for"
            )
    fields = {"tables": tables, "digests": digests, "weighted": weighted}
    for table in TABLES:
        without = [name for name, field in fields.items() if table not in field]
        if 0 < len(without) < len(fields):
            raise InputError(f"{file}: {without[0]} has no {table!r}")


def weights_of(
    files: Mapping[str, Place],
    tables: Mapping[str, pa.Table],
    numbers: Mapping[str, int],
) -> Weights:
    """The weights that tables stand for, of so many topics or subscribers each.

    Raises InputError, which names the file, for columns, ids or weights that cannot
    be used.
    """
    topics, subscribers = (
        _spread(TABLES[name], files[name], tables[name], numbers[name])
        if name in tables
        else None
        for name in TABLES
    )
    return Weights(topics, subscribers)


def _table(schema: pa.Schema, weights: Int64s) -> pa.Table:
    ids = np.flatnonzero(weights != 1)
    return pa.table(
        [pa.array(ids, schema.types[0]), pa.array(weights[ids])], schema=schema
    )


def _spread(schema: pa.Schema, file: Place, table: pa.Table, count: int) -> Int64s:
    what = schema.names[0]
    if table.schema.names != schema.names:
        raise InputError(
            f"{file}: found the columns {', '.join(table.schema.names)}, "
            f"expected {', '.join(schema.names)}"
        )
    ids, weights = (
        whole_numbers(column.to_numpy(), np.int64, f"{file}: column {name!r}")
        for name, column in zip(schema.names, table.columns, strict=True)
    )
    wrong = (np.diff(ids, prepend=-1) <= 0) | (ids >= count)
    if wrong.any():
        raise InputError(
            f"{file}: found {what} {ids[np.argmax(wrong)]:,}, expected each at most "
            f"once, ascending, and below {count:,}"
        )
    wrong = (weights < 0) | (weights > MOST)
    if wrong.any():
        raise InputError(
            f"{file}: found weight {weights[np.argmax(wrong)]:,}, "
            f"expected from 0 to {MOST:,}"
        )
    spread = np.ones(count, np.int64)
    spread[ids] = weights
    return spread


def _read_file(file: Place, what: str, names: Names) -> Int64s:
    found: list[str] = []
    weights: list[int] = []
    lines: dict[str, int] = {}
    for line, (name, weight) in _rows(_text(file), str(file), what):
        if name in lines:
            raise InputError(
                f"{file}, line {line}: found {what} {name!r} again, "
                f"it is in line {lines[name]:,} already"
            )
        lines[name] = line
        found.append(name)
        weights.append(_weight(weight, f"{file}, line {line}"))
    known = names.to_arrow()
    ids = pc.index_in(pa.array(found, known.type), value_set=known)
    if ids.null_count:
        name = found[ids.is_null().index(True).as_py()]
        raise InputError(
            f"{file}, line {lines[name]}: found {what} {name!r}, "
            f"expected a {what} of the workload"
        )
    spread = np.ones(len(names), np.int64)
    spread[np.asarray(ids, np.int64)] = weights
    return spread


def _text(file: Place) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise InputError(f"{file}: found bytes that are not UTF-8") from cause
    except OSError as cause:
        raise InputError(f"{file} cannot be read: {cause}") from cause


def _rows(text: str, name: str, what: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that has any, but for one of column names."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    first = True
    while True:
        number = lines.line_num + 1
        try:
            cells = next(lines, None)
        except csv.Error as cause:
            raise InputError(f"{name}, line {number}: {cause}") from cause
        if cells is None:
            return
        if not "".join(cells).strip():
            continue
        if len(cells) != 2:
            raise InputError(
                f"{name}, line {number}: found {len(cells):,} "
                f"column{'' if len(cells) == 1 else 's'}, expected 2 ({what},weight)"
            )
        if not (first and cells[1].strip().casefold() == "weight"):
            yield number, cells
        first = False


def _weight(text: str, at: str) -> int:
    if not _WEIGHT.fullmatch(text.strip()) or int(text) > MOST:
        raise InputError(
            f"{at}: found weight {text!r}, expected a whole number from 0 to {MOST:,}"
        )
    return int(text)
