"""One roll: feeds become one segment for each dataset, with everything about them in
one transaction."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.datasets import Registered, count_fed, is_current
from brokerwise.runtime.data_cluster.definitions import Dataset
from brokerwise.runtime.data_cluster.fed_batches import (
    REASONS,
    Fed,
    Reason,
    keep_aside,
    note_answer,
)
from brokerwise.runtime.data_cluster.records import Parsed, parse_records
from brokerwise.runtime.data_cluster.segments import (
    Segment,
    add_segment,
    new_file,
    remove_files,
    write_files,
)
from brokerwise.runtime.data_cluster.store import Store, counter
from brokerwise.runtime.net.refusals import NotFoundError
from brokerwise.runtime.process.state_file import Sql, count_up


@dataclass(frozen=True, eq=False)
class Taken:
    """A feed that waits for its answer, for the dataset as it was then."""

    registered: Registered
    body: bytes
    batch: str
    answer: asyncio.Future[Fed]

    @property
    def dataset(self) -> Dataset:
        return self.registered.dataset


@dataclass(frozen=True, eq=False)
class Part:
    """What becomes one segment; its file is on the disk."""

    registered: Registered
    table: pa.Table
    file: str
    bytes: int

    @property
    def dataset(self) -> Dataset:
        return self.registered.dataset


@dataclass(frozen=True)
class Roll:
    """Written, not committed."""

    feeds: tuple[tuple[Taken, Parsed | InputError], ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Done:
    """Committed: what became segments, the answer to each feed, the newest segment."""

    parts: tuple[Part, ...]
    answers: tuple[tuple[Taken, Fed | Exception], ...]
    newest: int


def write_roll(store: Store, feeds: Sequence[Taken]) -> Roll:
    """Parse and write, on the disk when it returns. For any thread. On an error no
    file is left."""
    parsed = tuple((taken, _parse(taken)) for taken in feeds)
    tables: dict[tuple[Dataset, float], tuple[Registered, list[pa.Table]]] = {}
    for taken, records in parsed:
        if isinstance(records, Parsed) and records.table.num_rows:
            found = taken.registered
            group = tables.setdefault((found.dataset, found.created), (found, []))
            group[1].append(records.table)
    files = [
        (found, new_file(found.dataset.name), pa.concat_tables(group))
        for found, group in tables.values()
    ]
    sizes = write_files(store, [(file, table) for _, file, table in files])
    parts = (
        Part(found, table, file, size)
        for (found, file, table), size in zip(files, sizes, strict=True)
    )
    return Roll(parsed, tuple(parts))


def commit_roll(store: Store, roll: Roll, at: float) -> Done:
    """Feeds of datasets that have been dropped meanwhile are answered so."""
    parts = tuple(part for part in roll.parts if is_current(store.sql, part.registered))
    with store.change() as sql:
        for part in parts:
            _add(sql, part, at)
        answers = tuple(
            (taken, _note(sql, taken, parsed, at))
            if is_current(store.sql, taken.registered)
            else (taken, NotFoundError(f"there is no dataset {taken.dataset.name!r}"))
            for taken, parsed in roll.feeds
        )
    remove_files(store, [part.file for part in roll.parts if part not in parts])
    return Done(parts, answers, counter(store.sql, "segment"))


def _parse(taken: Taken) -> Parsed | InputError:
    try:
        return parse_records(taken.dataset, taken.body)
    except InputError as error:
        return error


def _add(sql: Sql, part: Part, at: float) -> None:
    number = count_up(sql, "segment")
    name, rows = part.dataset.name, part.table.num_rows
    add_segment(sql, Segment(number, name, part.file, rows, part.bytes, at))


def _note(
    sql: Sql, taken: Taken, parsed: Parsed | InputError, at: float
) -> Fed | InputError:
    if isinstance(parsed, InputError):
        return parsed
    name = taken.dataset.name
    reasons = (Reason(each.line, each.reason) for each in parsed.rejects[:REASONS])
    fed = Fed(parsed.table.num_rows, parsed.rejected, reasons=tuple(reasons))
    count_fed(sql, name, fed.rows, fed.rejected, at)
    keep_aside(sql, name, taken.batch, parsed.rejects, at)
    if taken.batch:
        note_answer(sql, name, taken.batch, fed, at)
    return fed
