"""Topics to co-locate, from a CSV file or from a workload whose topics have a
processing time."""

import csv
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from brokerwise.model.colocation import TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.names import MAX_NAME_BYTES, Names
from brokerwise.storage.place import Place
from brokerwise.storage.workload import HEADER, read_header, read_topic_columns

REQUIRED = ("topic", "processing_ms", "rate_per_second")
OPTIONAL = ("target_ms",)
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, eq=False)
class TopicSource:
    """Topics, and the digest of what they were read from: of the bytes of a file, or
    the one that a workload states. Topics of a workload whose messages are not
    processed, or that has none, are `left_out`: so many."""

    table: TopicTable
    digest: str
    left_out: int = 0


def read_topic_source(place: Place, target_ms: float | None = None) -> TopicSource:
    """The topics of a CSV file or of a workload directory.

    `target_ms` is for topics that have none; a workload's never have. Raises
    InputError, which names file, line and field, for what cannot be used.
    """
    if target_ms is not None and not (isfinite(target_ms) and target_ms > 0):
        raise InputError(f"target_ms: found {target_ms:g}, expected a number above 0")
    if (place / HEADER).exists():
        return _of_workload(place, target_ms)
    content = _content(place)
    digest = hashlib.sha256(content).hexdigest()
    return TopicSource(_parse(place, content, target_ms), digest)


def _of_workload(place: Place, target_ms: float | None) -> TopicSource:
    header = read_header(place)
    topics = read_topic_columns(place, header.files["topics"])
    if topics.processing_ms is None:
        raise InputError(
            f"the topics of {place} have no processing_ms: it is not known how long "
            "a message of theirs takes",
            hint="Give topics as a CSV file: topic,processing_ms,rate_per_second"
            "[,target_ms]",
        )
    busy = np.flatnonzero((topics.processing_ms > 0) & (topics.rates > 0))
    if target_ms is None and len(busy):
        raise _no_target(f"the topics of {place} have")
    table = TopicTable(
        Names.of(topics.names[int(topic)] for topic in busy),
        topics.processing_ms[busy],
        topics.rates[busy] / header.period_seconds,
        np.full(len(busy), target_ms or 1.0),
    )
    return TopicSource(table, header.digest, len(topics.rates) - len(busy))


def _no_target(who: str) -> InputError:
    return InputError(
        f"{who} no target_ms", hint="Give one for all topics without: --target-ms N"
    )


def _parse(place: Place, content: bytes, target_ms: float | None) -> TopicTable:
    columns: Sequence[str] | None = None
    names: dict[str, int] = {}
    rows: list[tuple[float, ...]] = []
    for line, cells in _lines(place, content):
        if columns is None:
            columns = _columns(place, cells)
            continue
        row = _Row(f"{place} line {line:,}", columns, cells)
        name = row.name()
        if name in names:
            raise InputError(
                f"{row.where}: topic {name!r} is there twice, first in line "
                f"{names[name]:,}"
            )
        names[name] = line
        rows.append(row.figures(target_ms))
    if columns is None:
        raise InputError(
            f"{place} is empty: expected a first line {','.join(REQUIRED)}[,target_ms]"
        )
    figures = np.array(rows, np.float64).reshape(-1, 3)
    return TopicTable(Names.of(names), *figures.T)


def _columns(place: Place, cells: list[str]) -> list[str]:
    """What the first line names."""
    for name in REQUIRED:
        if name not in cells:
            raise InputError(
                f"{place}: no column {name}; its first line is {','.join(cells)!r}, "
                f"expected {','.join(REQUIRED)}[,target_ms]"
            )
    for name in (*REQUIRED, *OPTIONAL):
        if cells.count(name) > 1:
            raise InputError(f"{place}: column {name} is there twice")
    return cells


@dataclass(frozen=True)
class _Row:
    where: str
    columns: Sequence[str]
    cells: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.cells) != len(self.columns):
            found = f"{len(self.cells):,} column{'' if len(self.cells) == 1 else 's'}"
            raise InputError(
                f"{self.where}: {found}, expected {len(self.columns):,} "
                f"({','.join(self.columns)})"
            )

    def cell(self, column: str) -> str:
        return self.cells[self.columns.index(column)]

    def name(self) -> str:
        name = self.cell("topic")
        if not 0 < len(name.encode()) <= MAX_NAME_BYTES:
            raise InputError(
                f"{self.where}: topic is {name!r}, expected a name of 1 to "
                f"{MAX_NAME_BYTES:,} bytes"
            )
        return name

    def figures(self, target_ms: float | None) -> tuple[float, float, float]:
        target = target_ms
        if "target_ms" in self.columns and self.cell("target_ms"):
            target = self._number("target_ms")
        if target is None:
            raise _no_target(f"{self.where}: topic {self.name()!r} has")
        return self._number("processing_ms"), self._number("rate_per_second"), target

    def _number(self, column: str) -> float:
        text = self.cell(column)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not (isfinite(value) and value > 0) or "_" in text:
            raise InputError(
                f"{self.where}: {column} is {text!r}, expected a number above 0"
            )
        return value


def _lines(place: Place, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank, with their numbers, as cells without blanks around
    them."""
    text = _text(place, content)
    reader = csv.reader(text.splitlines(), strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as cause:
            raise InputError(f"{place} line {reader.line_num:,}: {cause}") from cause
        if cells is None:
            return
        if "".join(cells).strip():
            yield reader.line_num, [cell.strip() for cell in cells]


def _content(place: Place) -> bytes:
    try:
        return place.read()
    except FileNotFoundError as cause:
        raise InputError(f"{place} does not exist") from cause
    except OSError as cause:
        if place.local is not None and place.local.is_dir():
            raise InputError(
                f"{place} is neither a file of topics nor a workload: "
                f"it has no {HEADER}"
            ) from cause
        raise InputError(f"{place} cannot be read: {cause}") from cause


def _text(place: Place, content: bytes) -> str:
    try:
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise InputError(f"{place} is not a whole gzip file: {cause}") from cause
    except UnicodeDecodeError as cause:
        line = content[: cause.start].count(b"\n") + 1
        raise InputError(f"{place} line {line:,}: not valid UTF-8") from cause
