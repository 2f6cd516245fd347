"""The files to read: which there are, and their format."""

import glob
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyarrow import fs

from brokerwise.kernels.tokens import WHITESPACE
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.columns import with_columns
from brokerwise.pipeline.ingest.options import ReadOptions
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


@dataclass(frozen=True)
class Kind:
    """A kind of row: the roles its columns play.

    Roles among `decimals` are finite numbers, whatever they are called; where one is
    optional, it is NaN in rows that leave it empty. `option` is what the files are
    named with, for errors: by default the option of that name.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    decimals: tuple[str, ...] = ()
    option: str = ""

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
    kind: Kind, paths: Iterable[str], options: ReadOptions, start: int
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


def _identity(uri: str) -> str:
    """The same for all names and links of a file."""
    local = Place(uri).local
    return uri if local is None else str(local.resolve())


def _files(path: str, option: str) -> list[tuple[str, int]]:
    """Files with sizes; those hidden or starting with _ are not data."""
    if "://" not in path and any(c in path for c in "*?[") and not Place(path).exists():
        matches = _matches(path)
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
    if info.type != fs.FileType.Directory:
        raise InputError(f"{option}: {place} is neither a file nor a directory")
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


def _matches(pattern: str) -> list[str]:
    """What a pattern stands for; names that start with _ only if it says so."""
    told = os.path.basename(pattern.rstrip("/")).startswith("_")
    return [
        match
        for match in sorted(glob.glob(pattern, recursive=True))
        if told or not os.path.basename(match.rstrip("/")).startswith("_")
    ]


def _source(index: int, kind: Kind, uri: str, size: int, chosen: str | None) -> Source:
    name = (uri.split("?")[0] if "://" in uri else uri).lower()
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
