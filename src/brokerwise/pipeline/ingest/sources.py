"""The files to read: which there are, their format, and where their columns are."""

import csv
import glob
import gzip
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from brokerwise.kernels.tokens import WHITESPACE
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.options import IngestOptions
from brokerwise.storage.place import Place

_DELIMITERS = {"csv": ord(","), "tsv": ord("\t"), "whitespace": WHITESPACE}
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "whitespace",
    ".edges": "whitespace",
    ".el": "whitespace",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_FIRST_LINE_BYTES = 65_536
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Kind:
    """A kind of row: the roles its columns play."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        return self.required + self.optional


PAIRS = Kind("pairs", ("topic", "subscriber"))
RATES = Kind("rates", ("topic", "rate"))
EVENTS = Kind("events", ("topic", "time"), ("bytes",))
EVENTS_BY_BYTES = Kind("events", ("topic", "time", "bytes"))
SUBSCRIBERS = Kind("subscribers", ("name",), ("threshold", "x", "y"))


@dataclass(frozen=True)
class Source:
    """One file. `columns` says, for each role it has, the column: a number from 0
    in delimited text, a field name elsewhere."""

    index: int
    kind: Kind
    uri: str
    format: str
    gzipped: bool
    size: int
    roles: tuple[str, ...] = ()
    columns: tuple[int | str, ...] = ()
    width: int = 0
    first: int = 0
    given: str = ""

    @property
    def name(self) -> str:
        """The file as the user named it."""
        return str(Place(self.given or self.uri))

    @property
    def delimiter(self) -> int:
        return _DELIMITERS[self.format]

    @property
    def delimited(self) -> bool:
        return self.format in _DELIMITERS


def find_sources(
    kind: Kind, paths: Iterable[str], options: IngestOptions, start: int
) -> list[Source]:
    """The files behind some paths (files, directories, patterns), columns found.

    Their indexes count from `start`, in order of their names.
    """
    found = [
        (uri, size) for path in paths for uri, size in _files(path, f"--{kind.name}")
    ]
    sources = [
        _source(start + number, kind, uri, size, options.format)
        for number, (uri, size) in enumerate(sorted(set(found)))
    ]
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda s: _with_columns(s, options), sources))


def _files(path: str, option: str) -> list[tuple[str, int]]:
    """Files with sizes; those hidden or starting with _ are not data."""
    if "://" not in path and any(c in path for c in "*?[") and not Place(path).exists():
        matches = sorted(glob.glob(path))
        if not matches:
            raise InputError(f"{option}: no file matches {path!r}")
        return [f for match in matches for f in _files(match, option)]
    place = Place(path)
    filesystem, inside = place.open()
    info = filesystem.get_file_info(inside)
    if info.type == fs.FileType.File:
        return [(place.uri, info.size)]
    if info.type == fs.FileType.NotFound:
        raise InputError(f"{option}: {place} does not exist")
    inner = filesystem.get_file_info(fs.FileSelector(inside, recursive=True))
    files = []
    for entry in inner:
        relative = entry.path[len(inside) :].lstrip("/")
        hidden = any(p.startswith((".", "_")) for p in relative.split("/"))
        if entry.type == fs.FileType.File and not hidden:
            files.append(((place / relative).uri, entry.size))
    if not files:
        raise InputError(f"{option}: {place} has no data file in it")
    return files


def _source(index: int, kind: Kind, uri: str, size: int, chosen: str | None) -> Source:
    name = uri.split("?")[0].lower()
    gzipped = name.endswith(".gz")
    stem = name.removesuffix(".gz")
    ending = "." + stem.rsplit(".", 1)[-1]
    format_ = chosen or _ENDINGS.get(ending)
    if format_ is None:
        known = ", ".join(sorted(_ENDINGS))
        raise InputError(
            f"{Place(uri)}: cannot tell its format from its name (known: {known}, "
            "with or without .gz)",
            hint="Name it with --format.",
        )
    if format_ == "parquet" and gzipped:
        raise InputError(f"{Place(uri)}: a Parquet file cannot be read through gzip")
    return Source(
        index, kind, Place(uri).absolute().uri, format_, gzipped, size, given=uri
    )


def _with_columns(source: Source, options: IngestOptions) -> Source:
    if source.format == "parquet":
        return _with_fields(source, options, _parquet_columns(source))
    if source.format == "jsonl":
        return _with_fields(source, options, None)
    first, cells, after = _first_row(source)
    if not cells:
        roles = source.kind.required
        return replace(
            source,
            roles=roles,
            columns=tuple(range(len(roles))),
            width=len(roles),
            first=first,
        )
    names = [n for r in source.kind.required for n in options.columns.get(r, (r,))]
    named = any(name in cells for name in names)
    header = named if options.header is None else options.header
    columns: dict[str, int | str] = {}
    for place, role in enumerate(source.kind.roles):
        column = _column(source, role, place, cells, options, header, named)
        if column is not None:
            columns[role] = column
    told = any(role in options.columns for role in source.kind.roles)
    return replace(
        source,
        roles=tuple(columns),
        columns=tuple(columns.values()),
        width=len(cells) if header or told else len(columns),
        first=after if header else first,
    )


def _column(
    source: Source,
    role: str,
    place: int,
    cells: Sequence[str],
    options: IngestOptions,
    header: bool,
    named: bool,
) -> int | None:
    """The number of the column with a role; None if it is optional and not there."""
    told = options.columns.get(role, ())
    match = next((n for n in told or (role,) if n in cells), None)
    if header and match is not None:
        return cells.index(match)
    numbers = [int(n) for n in told if n.isdigit()]
    if numbers and 1 <= numbers[0] <= len(cells):
        return numbers[0] - 1
    required = role in source.kind.required
    if told or (header and named and required):
        asked = " or ".join(told or (role,))
        raise InputError(
            f"{source.name}: no column {asked} for the {role}; "
            f"its first line is {','.join(cells)!r}"
        )
    if header and named:
        return None
    return place if required or place < len(cells) else None


def _first_row(source: Source) -> tuple[int, list[str], int]:
    """Where the first row starts, its cells, and where the next line starts."""
    head = _head(source)
    at = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
    while at < len(head):
        end = head.find(b"\n", at)
        end = len(head) if end < 0 else end
        line = head[at:end].decode("utf-8", "replace").rstrip("\r")
        if line.strip() and not (source.format == "whitespace" and line[0] == "#"):
            return at, _cells(line, source), end + 1
        at = end + 1
    return len(head), [], len(head)


def _cells(line: str, source: Source) -> list[str]:
    if source.format == "whitespace":
        return line.split()
    return next(csv.reader([line], delimiter=chr(source.delimiter)), [])


def _head(source: Source) -> bytes:
    filesystem, path = Place(source.uri).open()
    try:
        with filesystem.open_input_file(path) as file:
            if source.gzipped:
                return gzip.open(file).read(_FIRST_LINE_BYTES)
            return bytes(file.read(_FIRST_LINE_BYTES))
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise InputError(f"{source.name} is not a whole gzip file: {cause}") from cause
    except PermissionError as cause:
        raise InputError(f"{source.name} cannot be read: {cause}") from cause


def _parquet_columns(source: Source) -> list[str]:
    filesystem, path = Place(source.uri).open()
    try:
        return list(pq.read_schema(path, filesystem=filesystem).names)
    except pa.ArrowInvalid as cause:
        raise InputError(f"{source.name} is not a Parquet file: {cause}") from cause


def _with_fields(
    source: Source, options: IngestOptions, known: Sequence[str] | None
) -> Source:
    """Columns by name, for formats whose rows carry names (`known`, if they all
    carry the same ones)."""
    found: dict[str, str] = {}
    for role in source.kind.roles:
        names = options.columns.get(role, (role,))
        if known is None:
            found[role] = names[0]
        elif match := next((n for n in names if n in known), ""):
            found[role] = match
        elif role in source.kind.required or role in options.columns:
            raise InputError(
                f"{source.name}: no column {' or '.join(names)} for the {role}; "
                f"its columns are {', '.join(known)}"
            )
    return replace(source, roles=tuple(found), columns=tuple(found.values()))
