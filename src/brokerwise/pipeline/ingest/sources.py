"""The files to read: which there are, and their format."""

import glob
import os
import posixpath
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

from pyarrow import fs

from brokerwise.kernels.delimited import WHITESPACE
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.columns import Reading, with_columns
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
# Folders by which a table is known whose log says which of its files count.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}


# The column that was taken for each role: a name, or a number from 1.
Taken = dict[str, str | int]


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
    def delimiter(self) -> int:
        return _DELIMITERS[self.format]

    @property
    def delimited(self) -> bool:
        return self.format in _DELIMITERS


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
