"""The files to read: which there are, their format, and the pieces that tasks take."""

import glob
import gzip
import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow.parquet as pq
from pyarrow import fs

from brokerwise.kernels.delimited import MAX_LINE_BYTES, WHITESPACE
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.columns import Reading, with_columns
from brokerwise.storage.place import Place

_PACKED = 4  # gzip and Parquet hold about so many times their size
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
# Folders by which a table is known whose log says which of its files count.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}
# The column that was taken for each role: a name, or a number from 1.
Taken = dict[str, str | int]
CHUNK_BYTES = 8 << 20
# A matter of the data alone: a cluster that grows with the work begins with few cores.
SMALLEST_SPLIT = 16 << 20
LARGEST_SPLIT = 64 << 20
MANY_SPLITS = 1000  # beyond, they become larger
OPENING_BYTES = 256 << 10  # what could be read in the time it takes to open a file
SHOWN_BYTES = 1000  # of a line that is too long


@dataclass(frozen=True)
class Kind:
    """A kind of row: the roles its columns play.

    Roles among `decimals` are finite numbers, whatever they are called; where one is
    optional, it is NaN in rows that leave it empty. For errors: `option` is what the
    files are named with, by default the option of that name, and `columns_option`
    what their columns are.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    decimals: tuple[str, ...] = ()
    option: str = ""
    columns_option: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        return self.required + self.optional


def _kind(name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Kind:
    return Kind(name, required, optional, columns_option=f"--{name}-columns")


PAIRS = _kind("pairs", ("topic", "subscriber"))
RATES = _kind("rates", ("topic", "rate"))
EVENTS = _kind("events", ("topic", "time"), ("bytes",))
EVENTS_BY_BYTES = _kind("events", ("topic", "time", "bytes"))
SUBSCRIBERS = _kind("subscribers", ("name",), ("threshold", "x", "y"))


@dataclass(frozen=True)
class Source:
    """One file. `columns` says, for each role it has, the column: a number from 0
    in delimited text, a field name elsewhere. `header` are the names of all columns,
    if the file says them."""

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
    header: tuple[str, ...] = ()

    @property
    def taken(self) -> Taken:
        if self.format == "jsonl":  # which may have a field in some rows only
            sure = self.kind.required
            both = zip(self.roles, self.columns, strict=True)
            return {r: c for r, c in both if r in sure or c in self.header}
        labels = [
            (self.header[c] if self.header else c + 1) if isinstance(c, int) else c
            for c in self.columns
        ]
        return dict(zip(self.roles, labels, strict=True))

    @property
    def name(self) -> str:
        """The file as the user named it."""
        return str(Place(self.given or self.uri))

    @property
    def unpacked_bytes(self) -> int:
        """About how many bytes it holds."""
        return self.size * (_PACKED if self.gzipped or self.format == "parquet" else 1)

    @property
    def delimiter(self) -> int:
        return _DELIMITERS[self.format]

    @property
    def delimited(self) -> bool:
        return self.format in _DELIMITERS


def refuse_inside_input(paths: Iterable[str], out: Place) -> None:
    """Output among the input would be taken for input the next time."""
    target = out.local
    for path in paths:
        source = Place(path).local
        if target and source and target.resolve().is_relative_to(source.resolve()):
            raise InputError(
                f"--out {out} is in {path}, which is read; nothing was written",
                hint="Choose an --out beside the input.",
            )


def find_sources(
    kind: Kind, paths: Iterable[str], options: Reading, start: int
) -> list[Source]:
    """The files behind some paths (files, directories, patterns), columns found.

    Their indexes count from `start`, in order of their names. A file that several
    paths lead to is there once.
    """
    found: dict[str, tuple[str, int]] = {}
    for path in paths:
        for uri, size in _files(path, kind.option or f"--{kind.name}"):
            found.setdefault(_identity(uri), (uri, size))
    sources = [
        _source(start + number, kind, uri, size, options.format)
        for number, (uri, size) in enumerate(sorted(found.values()))
    ]
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda s: with_columns(s, options), sources))


def columns_taken(sources: Iterable[Source]) -> dict[str, list[Taken]]:
    """The columns of files, by kind: once for all files that agree."""
    found: dict[str, list[Taken]] = {}
    for source in sources:
        ways = found.setdefault(source.kind.name, [])
        if source.taken not in ways:
            ways.append(source.taken)
    return found


def _identity(uri: str) -> str:
    """The same for all names and links of a file."""
    local = Place(uri).local
    return uri if local is None else str(local.resolve())


def _files(
    path: str, option: str, checked: set[str] | None = None
) -> list[tuple[str, int]]:
    """Files with sizes; those hidden or starting with _ are not data. `checked` are
    folders that are known to be in no table with a log."""
    place, checked = Place(path), set() if checked is None else checked
    local = place.local is not None
    if local and any(c in place.uri for c in "*?[") and not place.exists():
        matches = _matches(place.uri)
        if not matches:
            raise InputError(f"{option}: no file matches {path!r}")
        return [f for match in matches for f in _files(match, option, checked)]
    filesystem, inside = place.open()
    info = filesystem.get_file_info(inside)
    if info.type == fs.FileType.File:
        if _may_be_of_a_table(inside):
            _refuse_tables_above(option, filesystem, inside, checked)
        return [(place.uri, info.size)]
    if info.type == fs.FileType.NotFound:
        raise InputError(f"{option}: {place} does not exist")
    if info.type != fs.FileType.Directory:
        raise InputError(f"{option}: {place} is neither a file nor a directory")
    files = []
    for entry in filesystem.get_file_info(fs.FileSelector(inside, recursive=True)):
        relative = entry.path[len(inside) :].lstrip("/")
        _refuse_log(option, place, relative)
        hidden = any(p.startswith((".", "_")) for p in relative.split("/"))
        if entry.type == fs.FileType.File and not hidden:
            files.append(((place / relative).uri, entry.size))
    if not files:
        raise InputError(f"{option}: {place} has no data file in it")
    if any(_may_be_of_a_table(uri) for uri, _ in files):
        _refuse_tables_above(option, filesystem, inside, checked)
    return files


def _may_be_of_a_table(path: str) -> bool:
    return path.partition("?")[0].endswith(".parquet")


def _refuse_log(option: str, place: Place, relative: str) -> None:
    """Refuse what is below `place` if it is in the log of a table."""
    parts = relative.split("/")
    for depth, (folder, name) in enumerate(pairwise(parts)):
        if folder in _LOGS and _is_log(folder, name):
            raise _table(option, str(place / "/".join(parts[:depth])), folder)


def _is_log(folder: str, name: str) -> bool:
    return folder != "metadata" or ".metadata.json" in name


def _refuse_tables_above(
    option: str, filesystem: fs.FileSystem, path: str, checked: set[str]
) -> None:
    """Refuse a file or a folder that is in a table with a log, or is one."""
    paths = {path}
    if isinstance(filesystem, fs.LocalFileSystem):
        paths.add(os.path.realpath(path))
    for folder in paths:
        while folder not in checked:
            checked.add(folder)
            try:
                found = _log_in(filesystem, folder)
            except OSError:  # of a store that shows no more than what was named
                break
            if found:
                raise _table(option, folder, found)
            folder = posixpath.dirname(folder)


def _log_in(filesystem: fs.FileSystem, folder: str) -> str:
    """The folder with a table's log in another one, or none."""
    if not folder.strip("/"):
        return ""
    for found in filesystem.get_file_info([f"{folder}/{log}" for log in _LOGS]):
        if found.type == fs.FileType.Directory:
            entries = filesystem.get_file_info(fs.FileSelector(found.path))
            if any(_is_log(found.base_name, entry.base_name) for entry in entries):
                return str(found.base_name)
    return ""


def _table(option: str, table: str, log: str) -> InputError:
    return InputError(
        f"{option}: {table.rstrip('/')} is a {_LOGS[log]} table (it has {log}/): its "
        "files hold rows that were deleted, too",
        hint="Export it to plain Parquet first, for example with Spark: "
        f'spark.read.format("{_LOGS[log].lower()}").load(...).write.parquet(...)',
    )


def _matches(pattern: str) -> list[str]:
    """What a pattern stands for; names that start with _ only if it says so."""
    told = os.path.basename(pattern.rstrip("/")).startswith("_")
    return [
        match
        for match in sorted(glob.glob(pattern, recursive=True))
        if told or not os.path.basename(match.rstrip("/")).startswith("_")
    ]


def _source(index: int, kind: Kind, uri: str, size: int, chosen: str | None) -> Source:
    name = (uri if Place(uri).local else uri.partition("?")[0]).lower()
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


@dataclass(frozen=True)
class Split:
    """Part of a file: the rows that start in bytes [start, end) of plain text, the
    whole of a gzip file, or row groups [start, end) of a Parquet file."""

    source: Source
    start: int
    end: int
    size: int


def split_sources(sources: Sequence[Source]) -> list[list[Split]]:
    """The splits of all files, grouped so that tasks have about the same to do."""
    total = sum(s.size + OPENING_BYTES for s in sources)
    size = min(LARGEST_SPLIT, max(SMALLEST_SPLIT, total // MANY_SPLITS))
    groups: list[list[Split]] = []
    room = 0
    for source in sources:
        for split in _split(source, size):
            if split.size + OPENING_BYTES > room or not groups:
                groups.append([])
                room = size
            groups[-1].append(split)
            room -= split.size + OPENING_BYTES
    return groups


def _split(source: Source, size: int) -> Iterator[Split]:
    if source.format == "parquet":
        yield from _row_groups(source, size)
    elif source.gzipped or source.size <= size:
        yield Split(source, source.first, source.size, source.size)
    else:
        for start in range(source.first, source.size, size):
            end = min(start + size, source.size)
            yield Split(source, start, end, end - start)


def _row_groups(source: Source, size: int) -> Iterator[Split]:
    filesystem, path = Place(source.uri).open()
    groups = pq.read_metadata(path, filesystem=filesystem).num_row_groups
    each = max(1, groups * size // max(source.size, 1))
    for start in range(0, groups, each):
        end = min(start + each, groups)
        yield Split(source, start, end, source.size * (end - start) // groups)


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a text file, or the start of a line that is too long.

    Position counts bytes of the unpacked text.
    """

    position: int
    text: bytes
    overlong: bool = False


def read_chunks(split: Split, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The lines of a split, some whole lines at a time.

    A line longer than the limit that no chunk holds whole comes as a chunk that
    says so, with no more than its start.
    """
    filesystem, path = Place(split.source.uri).open()
    with filesystem.open_input_file(path) as file:
        if split.source.gzipped:
            with gzip.open(file) as unpacked:
                unpacked.read(split.start)
                yield from _lines(unpacked, split.start, None, chunk_bytes)
        else:
            start, end = _owned(file, split)
            file.seek(start)
            yield from _lines(file, start, end, chunk_bytes)


def _owned(file: Any, split: Split) -> tuple[int, int]:
    """Where the lines that start in a split begin and end."""
    start = split.start
    if start > split.source.first:
        start = _after_newline(file, start - 1)
    if split.end >= split.source.size:
        return start, split.source.size
    return start, max(start, _after_newline(file, split.end - 1))


def _after_newline(file: Any, at: int) -> int:
    """The first byte after the first newline at or behind `at`."""
    file.seek(at)
    while text := file.read(65_536):
        found = text.find(b"\n")
        if found >= 0:
            return int(at + found + 1)
        at += len(text)
    return int(at)


def _lines(
    stream: Any, position: int, end: int | None, chunk_bytes: int
) -> Iterator[Chunk]:
    carry = b""
    skipping = False
    while True:
        at = position + len(carry)
        wanted = chunk_bytes if end is None else min(chunk_bytes, end - at)
        text = stream.read(wanted) if wanted > 0 else b""
        if not text:
            if wanted > 0 and end is not None:
                raise EOFError(f"it ends at byte {at:,}, but had {end:,} before")
            break
        whole = carry + text
        cut = whole.rfind(b"\n") + 1
        lines, carry = whole[:cut], whole[cut:]
        if skipping and cut:
            skip = lines.find(b"\n") + 1
            position, lines, skipping = position + skip, lines[skip:], False
        if lines:
            yield Chunk(position, lines)
            position += len(lines)
        if skipping or len(carry) > MAX_LINE_BYTES:
            if not skipping:
                yield Chunk(position, carry[:SHOWN_BYTES], overlong=True)
            position += len(carry)
            carry, skipping = b"", True
    if carry and not skipping:
        yield Chunk(position, carry)
