"""Where the columns of a file are: by name, by number, or in their usual order."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.kernels.delimited import MAX_LINE_BYTES, WHITESPACE
from brokerwise.model.errors import InputError
from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from brokerwise.pipeline.ingest.sources import Source

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Reading:
    """How to read files of one kind.

    `columns` has, for a role, the names or 1-based numbers of the column that holds
    it: of several the first that a file has. `header` says whether text files start
    with a line of column names; None: look. `format`: None: by the file's name.
    `by_order`: a role that a file may lack may have a column because it is left.
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: bool | None = None
    format: str | None = None
    by_order: bool = True


def with_columns(source: "Source", options: Reading) -> "Source":
    """The source with its columns found; reads no more than the file's start."""
    if source.format == "parquet":
        return _in_schema(source, options)
    if source.format == "jsonl":
        return _in_objects(source, options)
    return _in_lines(source, options)


def column_names(source: "Source") -> list[str]:
    """What the columns of a file are called: its first line, the fields of its first
    object, or its schema."""
    if source.format == "parquet":
        return list(_schema(source).names)
    if source.format == "jsonl":
        return list(_first_object(source))
    return [cell.strip() for cell in _first_row(source).cells]


def _in_lines(source: "Source", options: Reading) -> "Source":
    first = _first_row(source)
    kind, cells = source.kind, first.cells
    if not cells:
        columns = {role: column for column, role in enumerate(kind.required)}
        return _numbered(source, columns, len(columns), first.start)
    named = any(
        _position(name, cells) is not None
        for role in kind.required
        for name in _names(role, options)
    )
    header = named if options.header is None else options.header
    told = [role for role in kind.roles if role in options.columns]
    columns = {role: _told(source, role, options, cells, header) for role in told}
    fixed = header or bool(told)
    if header and named:
        _add_named(source, columns, cells)
    else:
        roles = source.kind.roles if options.by_order else source.kind.required
        _add_in_order(source, roles, columns, cells, fixed)
    width = len(cells) if fixed else len(columns)
    if header:
        source = replace(source, header=tuple(cell.strip() for cell in cells))
    return _numbered(source, columns, width, first.after if header else first.start)


def _numbered(
    source: "Source", columns: dict[str, int], width: int, first: int
) -> "Source":
    """The source with its roles in the order of their columns."""
    roles = sorted(columns, key=lambda role: columns[role])
    for one, other in pairwise(roles):
        if columns[one] == columns[other]:
            raise InputError(
                f"{source.name}: column {columns[one] + 1} cannot be both the "
                f"{one} and the {other}"
            )
    return replace(
        source,
        roles=tuple(roles),
        columns=tuple(columns[role] for role in roles),
        width=width,
        first=first,
    )


def _names(role: str, options: Reading) -> Sequence[str]:
    """Names by which a line of column names is known; a number is none."""
    told = options.columns.get(role, ())
    return [name for name in told if not name.isdecimal()] or [role]


def _position(name: str, cells: Sequence[str]) -> int | None:
    """The column with a name; capitals and blanks around it matter only if another
    has the very same name."""
    if name in cells:
        return cells.index(name)
    alike = [cell.strip().casefold() for cell in cells]
    folded = name.strip().casefold()
    return alike.index(folded) if folded in alike else None


def _told(
    source: "Source",
    role: str,
    options: Reading,
    cells: Sequence[str],
    header: bool,
) -> int:
    """The column that the user named; of several the first that the file has."""
    for name in options.columns[role]:
        column = _position(name, cells) if header else None
        if column is None and name.isdecimal() and 1 <= int(name) <= len(cells):
            column = int(name) - 1
        if column is not None:
            return column
    raise _no_column(source, role, options.columns[role], cells)


def _add_named(source: "Source", columns: dict[str, int], cells: Sequence[str]) -> None:
    """Give the other roles the columns that are called like them."""
    for role in source.kind.roles:
        column = _position(role, cells)
        if role in columns:
            continue
        if column is not None:
            columns[role] = column
        elif role in source.kind.required:
            raise _no_column(source, role, (role,), cells)


def _add_in_order(
    source: "Source",
    roles: Sequence[str],
    columns: dict[str, int],
    cells: Sequence[str],
    fixed: bool,
) -> None:
    """Give other roles the columns that are left.

    Unless the first row fixes how many there are: it may be a bad one.
    """
    kind = source.kind
    count = len(cells) if fixed else max(len(cells), len(kind.required))
    free = [column for column in range(count) if column not in columns.values()]
    for role in roles:
        if role in columns:
            continue
        if free:
            columns[role] = free.pop(0)
        elif role in kind.required:
            raise _no_column(source, role, (), cells)


def _no_column(
    source: "Source", role: str, names: Sequence[str], cells: Sequence[str]
) -> InputError:
    asked = f"column {' or '.join(names)}" if names else "column left"
    where = "its columns are" if source.format == "parquet" else "its first line is"
    option = source.kind.columns_option
    return InputError(
        f"{source.name}: no {asked} for the {role}; {where} {','.join(cells)!r}",
        hint=f"Name it with {option} {role}=COLUMN." if option else "",
    )


@dataclass(frozen=True)
class _First:
    """The first row of a text: where it and the next line start, and its cells."""

    start: int
    after: int
    line: bytes
    cells: list[str]


class _EndlessLineError(Exception):
    """A line is longer than any row."""


def _first_row(source: "Source") -> _First:
    at = 0
    try:
        for at, line in _lines(source):
            _refuse_utf_16(source, line)
            bare = line.removesuffix(b"\n").removesuffix(b"\r")
            if cells := _cells(source, bare.decode("utf-8", "replace")):
                return _First(at, at + len(line), bare, cells)
            at += len(line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise InputError(f"{source.name} is not a whole gzip file: {cause}") from cause
    except PermissionError as cause:
        raise InputError(f"{source.name} cannot be read: {cause}") from cause
    except _EndlessLineError as cause:
        if source.format != "jsonl":  # where it is a bad row like any other
            raise InputError(
                f"{source.name}: a line over {MAX_LINE_BYTES:,} bytes before the "
                "first row; its columns cannot be told"
            ) from cause
    return _First(at, at, b"", [])


def _refuse_utf_16(source: "Source", line: bytes) -> None:
    """Its text would pass for names with zero bytes in them."""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in line:
        raise InputError(
            f"{source.name} is UTF-16, expected UTF-8",
            hint="Convert it, for example with: iconv -f UTF-16 -t UTF-8",
        )


def _lines(source: "Source") -> Iterator[tuple[int, bytes]]:
    """The lines of a text and where each starts, without a byte order mark."""
    filesystem, path = Place(source.uri).open()
    with filesystem.open_input_file(path) as file, _unpacked(source, file) as stream:
        at = 0
        longest = len(_BYTE_ORDER_MARK) + MAX_LINE_BYTES + len(b"\n")
        while line := stream.readline(longest + 1):
            if at == 0 and line.startswith(_BYTE_ORDER_MARK):
                at, line = len(_BYTE_ORDER_MARK), line[len(_BYTE_ORDER_MARK) :]
            if len(line.removesuffix(b"\n")) > MAX_LINE_BYTES:
                raise _EndlessLineError
            yield at, line
            at += len(line)


def _unpacked(source: "Source", file: Any) -> Any:
    return gzip.open(file) if source.gzipped else io.BufferedReader(file)


def _cells(source: "Source", line: str) -> list[str]:
    """The cells of a line as `kernels.delimited` splits it; none if it is no row."""
    if source.format == "jsonl":
        return [line] if line.strip() else []
    blanks = " \t".replace(chr(source.delimiter), "")
    bare = line.strip(blanks)
    if not bare or (source.delimiter == WHITESPACE and bare.startswith("#")):
        return []
    spaced = source.delimiter == WHITESPACE
    line = (bare.replace("\t", " ") if spaced else line).replace("\r", " ")
    mark = " " if spaced else chr(source.delimiter)
    try:
        return next(csv.reader([line], delimiter=mark, skipinitialspace=spaced))
    except csv.Error:  # a cell that is far too long for the csv module
        return line.split(mark)


def _in_objects(source: "Source", options: Reading) -> "Source":
    """Fields by name. Of several names one that the first object has."""
    first = _first_row(source)
    known = _first_object(source)
    fields = []
    for role in source.kind.roles:
        told = options.columns.get(role, (role,))
        names = [name for name in told if name in known or not name.isdecimal()]
        if not names:
            raise InputError(
                f"{source.name}: found column {' or '.join(told)} for the {role}, "
                "expected a name: JSON lines have no order of columns"
            )
        fields.append(next((name for name in names if name in known), names[0]))
    return replace(
        source,
        roles=source.kind.roles,
        columns=tuple(fields),
        first=first.start,
        header=tuple(known),
    )


def _first_object(source: "Source") -> dict[str, Any]:
    """The object on the first line that is not blank; none if it is no object."""
    try:
        return msgspec.json.decode(_first_row(source).line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _in_schema(source: "Source", options: Reading) -> "Source":
    schema = _schema(source)
    found: dict[str, str] = {}
    for role in source.kind.roles:
        if role in options.columns:
            found[role] = schema.names[_told(source, role, options, schema.names, True)]
        elif (column := _position(role, schema.names)) is not None:
            found[role] = schema.names[column]
        elif role in source.kind.required:
            raise _no_column(source, role, (role,), schema.names)
    for role, name in found.items():
        _refuse_type(source, role, name, schema)
    return replace(source, roles=tuple(found), columns=tuple(found.values()))


def _schema(source: "Source") -> pa.Schema:
    filesystem, path = Place(source.uri).open()
    try:
        return pq.read_schema(path, filesystem=filesystem)
    except PermissionError as cause:
        raise InputError(f"{source.name} cannot be read: {cause}") from cause
    except (pa.ArrowException, OSError, UnicodeDecodeError) as cause:
        raise InputError(f"{source.name} is not a Parquet file: {cause}") from cause


def _refuse_type(source: "Source", role: str, name: str, schema: pa.Schema) -> None:
    if schema.names.count(name) > 1:
        raise InputError(f"{source.name}: more than one column {name} for the {role}")
    kind = schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    strange = (
        pa.types.is_nested(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_interval(kind)
    )
    if strange:
        raise InputError(
            f"{source.name}: column {name} for the {role} holds {kind}, expected text, "
            "numbers or times"
        )
