"""Rows of any format as spans of one buffer, checked field by field."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.kernels import delimited
from brokerwise.kernels.names import gather
from brokerwise.model.arrays import Bytes, Int32s, Int64s, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.names import MAX_NAME_BYTES, Names
from brokerwise.pipeline.ingest.reasons import (
    FIELD,
    NOT_JSON,
    NOT_UTF8,
    TOO_LONG,
    Rejects,
)
from brokerwise.pipeline.ingest.sources import CHUNK_BYTES, Source, Split, read_chunks
from brokerwise.storage.place import Place

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES = (8, 13, 18, 23)
ABSENT = -1  # a count that an optional column does not give
_PARQUET_ROWS = 500_000
_BUFFER_BYTES = 1 << 30  # spans count to 2^31


def number_text(value: float) -> str:
    """A number as people write it: a whole one without point or exponent."""
    return str(int(value)) if value == value // 1 else repr(value)


def as_text(column: pa.Array) -> pa.Array:
    """An Arrow column as text: large strings, or bytes that ought to be text.

    Null and NaN are empty. Times are in UTC, to the microsecond.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = _floats(column)
    elif pa.types.is_timestamp(column.type):
        # Unsafe, because finer digits may be lost; a zone is how to show a time.
        column = column.cast(pa.timestamp("us"), safe=False)
    elif column.type == pa.uuid():
        column = _uuids(column)
    binary = _is_binary(column.type)
    text = column.cast(pa.large_binary() if binary else pa.large_string())
    return pc.fill_null(text, b"" if binary else "")


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _floats(column: pa.Array) -> pa.Array:
    """As in JSON; Arrow writes large numbers, whole or not, with an exponent."""
    values = column.cast(pa.float64()).to_pylist()
    texts = ["" if v is None or math.isnan(v) else number_text(v) for v in values]
    return pa.array(texts, pa.large_string())


def _uuids(column: pa.Array) -> pa.Array:
    stored = pc.fill_null(column.storage, bytes(16))
    data = np.frombuffer(stored.buffers()[1], np.uint8)[16 * stored.offset :]
    data = data[: 16 * len(stored)].reshape(-1, 16)
    digits = _HEX[np.stack([data >> 4, data & 15], axis=2)].reshape(-1, 32)
    text = np.full((len(digits), 36), ord("-"), np.uint8)
    text[:, [k for k in range(36) if k not in _DASHES]] = digits
    buffers = [None, pa.py_buffer(text)]
    texts = pa.FixedSizeBinaryArray.from_buffers(pa.binary(36), len(text), buffers)
    return pc.if_else(column.storage.is_valid(), texts, pa.scalar(None, pa.binary(36)))


@dataclass(frozen=True, eq=False)
class Spans:
    """One field of each row: bytes [starts[i], ends[i]) of the rows' buffer."""

    starts: Int32s
    ends: Int32s


@dataclass(frozen=True, eq=False)
class Rows:
    """Good rows: names as spans of `buffer`, numbers by role, where each row is;
    and the rejected ones. `count` counts both."""

    source: Source
    count: int
    buffer: Bytes
    names: dict[str, Spans]
    numbers: dict[str, Any]
    position: Int64s
    rejects: Rejects


@dataclass(frozen=True, eq=False)
class _Raw:
    """Rows as they were found; status and found as `kernels.delimited` has them."""

    buffer: Bytes
    fields: list[Spans]
    position: Int64s
    status: Int32s
    found: Int32s

    def __post_init__(self) -> None:
        """Read-only, as text that was read is, whatever the format: kernels are
        compiled for one kind of array."""
        object.__setattr__(self, "buffer", read_only(self.buffer))


def read_rows(split: Split, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Rows]:
    """The rows of a split, some at a time."""
    source = split.source
    if source.format == "parquet":
        raws = _parquet_rows(split)
    elif source.format == "jsonl":
        raws = _text_rows(split, chunk_bytes, _json_rows)
    else:
        raws = _text_rows(split, chunk_bytes, _delimited_rows)
    return (_checked(source, raw) for raw in raws)


def _text_rows(
    split: Split,
    chunk_bytes: int,
    parse: Callable[[Source, int, bytes], _Raw],
) -> Iterator[_Raw]:
    for chunk in read_chunks(split, chunk_bytes):
        if chunk.overlong:
            yield _unusable(split.source, chunk.position)
        else:
            yield parse(split.source, chunk.position, chunk.text)


def _unusable(source: Source, position: int) -> _Raw:
    one = np.zeros(1, np.int32)
    spans = [Spans(one, one) for _ in source.roles]
    where = np.array([position], np.int64)
    return _Raw(np.zeros(1, np.uint8), spans, where, one + TOO_LONG, one)


def _delimited_rows(source: Source, position: int, text: bytes) -> _Raw:
    buffer = np.frombuffer(text, np.uint8)
    place = np.full(source.width, -1, np.int64)
    for field, column in enumerate(source.columns):
        place[int(column)] = field
    starts, ends, row_start, status, found, rows = delimited.split_rows(
        buffer,
        source.delimiter,
        source.width,
        place,
        delimited.count_lines(buffer),
        len(source.columns),
    )
    spans = [Spans(s[:rows], e[:rows]) for s, e in zip(starts, ends, strict=True)]
    raw = _Raw(
        buffer,
        spans,
        position + row_start[:rows].astype(np.int64),
        status[:rows],
        found[:rows],
    )
    return _unescaped(raw) if (raw.status == delimited.ROW_ESCAPED).any() else raw


def _unescaped(raw: _Raw) -> _Raw:
    """Rows with doubled quotes: their quoted fields are written again, behind the
    text."""
    text = bytearray(raw.buffer.tobytes())
    for row in np.flatnonzero(raw.status == delimited.ROW_ESCAPED):
        for spans in raw.fields:
            start, end = int(spans.starts[row]), int(spans.ends[row])
            if start > 0 and text[start - 1 : start] == b'"':
                spans.starts[row] = len(text)
                text += text[start:end].replace(b'""', b'"')
                spans.ends[row] = len(text)
    status = np.where(raw.status == delimited.ROW_ESCAPED, delimited.ROW_OK, raw.status)
    buffer = np.frombuffer(bytes(text), np.uint8)
    return _Raw(buffer, raw.fields, raw.position, status, raw.found)


def _json_rows(source: Source, position: int, text: bytes) -> _Raw:
    decoder = msgspec.json.Decoder(dict[str, Any])
    cells: list[list[bytes]] = [[] for _ in source.columns]
    positions, status, found = [], [], []
    at = position
    for line in text.split(b"\n"):
        if line.strip() or len(line) > delimited.MAX_LINE_BYTES:
            positions.append(at)
            problem, which = _json_row(decoder, source, line, cells)
            status.append(problem)
            found.append(which)
        at += len(line) + 1
    buffer, spans = _joined(cells)
    return _Raw(
        buffer,
        spans,
        np.array(positions, np.int64),
        np.array(status, np.int32),
        np.array(found, np.int32),
    )


def _json_row(
    decoder: "msgspec.json.Decoder[dict[str, Any]]",
    source: Source,
    line: bytes,
    cells: list[list[bytes]],
) -> tuple[int, int]:
    """Append the cells of one line; returns what is wrong with it."""
    content, problem = _json_object(decoder, line)
    which = 0
    for field, column in enumerate(source.columns):
        cell = _json_cell(content.get(str(column)))
        if cell is None and not problem:
            problem, which = FIELD + delimited.FIELD_NOT_TEXT, field
        cells[field].append(cell or b"")
    return problem, which


def _json_object(
    decoder: "msgspec.json.Decoder[dict[str, Any]]", line: bytes
) -> tuple[dict[str, Any], int]:
    """The object on a line, or none and what is wrong with it."""
    if len(line) > delimited.MAX_LINE_BYTES:
        return {}, TOO_LONG
    try:
        return decoder.decode(line), delimited.ROW_OK
    except UnicodeDecodeError:
        return {}, NOT_UTF8
    except (msgspec.DecodeError, RecursionError):
        return {}, NOT_JSON


def _json_cell(value: Any) -> bytes | None:
    """A field as the text that another format would have; None if it has none."""
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(value).encode()
    return None


def _joined(cells: list[list[bytes]]) -> tuple[Bytes, list[Spans]]:
    spans, base, texts = [], 0, []
    for column in cells:
        ends = base + np.cumsum([0, *(len(c) for c in column)]).astype(np.int32)
        spans.append(Spans(ends[:-1], ends[1:]))
        base = int(ends[-1])
        texts.append(b"".join(column))
    return np.frombuffer(b"".join(texts) or b"\0", np.uint8), spans


def _parquet_rows(split: Split) -> Iterator[_Raw]:
    try:
        yield from _parquet_batches(split)
    except (pa.ArrowException, OSError) as cause:
        # A disk does not change its mind, but a store may answer the next time.
        if isinstance(cause, OSError) and Place(split.source.uri).local is None:
            raise
        raise InputError(f"{split.source.name} cannot be read: {cause}") from cause


def _parquet_batches(split: Split) -> Iterator[_Raw]:
    filesystem, path = Place(split.source.uri).open()
    columns = [str(c) for c in split.source.columns]
    with filesystem.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
        groups = range(split.start, split.end)
        row = sum(file.metadata.row_group(g).num_rows for g in range(split.start))
        for batch in file.iter_batches(_PARQUET_ROWS, groups, columns):
            texts = [as_text(batch.column(c)) for c in columns]
            yield from _parquet_raws(split.source, texts, row)
            row += batch.num_rows


def _parquet_raws(source: Source, texts: list[pa.Array], row: int) -> Iterator[_Raw]:
    """Rows from texts; in halves, if one buffer would be too long for its spans."""
    count = len(texts[0])
    if count == 0:
        return
    if sum(text.nbytes for text in texts) <= _BUFFER_BYTES:
        yield _parquet_raw(texts, row)
    elif count == 1:
        yield _unusable(source, row)
    else:
        half = count // 2
        yield from _parquet_raws(source, [t.slice(0, half) for t in texts], row)
        yield from _parquet_raws(source, [t.slice(half) for t in texts], row + half)


def _parquet_raw(texts: list[pa.Array], row: int) -> _Raw:
    parts, spans, base = [], [], 0
    for text in texts:
        _, offsets, data = text.buffers()
        ends = np.frombuffer(offsets, np.int64)[text.offset :][: len(text) + 1]
        parts.append(np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]])
        local = (ends - ends[0] + base).astype(np.int32)
        spans.append(Spans(local[:-1], local[1:]))
        base += len(parts[-1])
    none = np.zeros(len(texts[0]), np.int32)
    position = np.arange(row, row + len(none), dtype=np.int64)
    buffer = np.concatenate([*parts, np.zeros(1, np.uint8)])
    return _Raw(buffer, spans, position, none, none)


def _checked(source: Source, raw: _Raw) -> Rows:
    """Check every field; the first thing wrong with a row is its reason."""
    ascii_only = bool(raw.buffer.max(initial=0) < 0x80)
    status, found = raw.status.copy(), raw.found.copy()
    names: dict[str, Spans] = {}
    numbers: dict[str, Any] = {}
    usable = status == delimited.ROW_OK
    for field, (role, spans) in enumerate(zip(source.roles, raw.fields, strict=True)):
        decimal = role in source.kind.decimals
        if role in _NAMES and not decimal:
            names[role] = spans
            problems = delimited.check_names(
                raw.buffer, spans.starts, spans.ends, MAX_NAME_BYTES, ascii_only
            )
        else:
            parse = _decimals if decimal else _NUMBERS[role]
            numbers[role], problems = parse(raw.buffer, spans)
            if decimal:
                _refuse_empty(numbers[role], problems, role in source.kind.required)
            elif role not in source.kind.required:
                absent = problems == delimited.FIELD_EMPTY
                numbers[role][absent] = ABSENT
                problems[absent] = delimited.FIELD_OK
        bad = usable & (status == delimited.ROW_OK) & (problems != delimited.FIELD_OK)
        status[bad] = FIELD + problems[bad]
        found[bad] = field
    good = status == delimited.ROW_OK
    rejects = Rejects(source.index, raw.position[~good], status[~good], found[~good])
    if not good.all():
        names = {r: Spans(s.starts[good], s.ends[good]) for r, s in names.items()}
        numbers = {role: values[good] for role, values in numbers.items()}
    return Rows(
        source,
        len(status),
        raw.buffer,
        names,
        numbers,
        raw.position[good],
        rejects,
    )


def _refuse_empty(values: Any, problems: Int32s, required: bool) -> None:
    if required:
        empty = np.isnan(values) & (problems == delimited.FIELD_OK)
        problems[empty] = delimited.FIELD_EMPTY


def _counts(buffer: Bytes, spans: Spans) -> tuple[Int64s, Int32s]:
    return delimited.parse_counts(buffer, spans.starts, spans.ends)


def _times(buffer: Bytes, spans: Spans) -> tuple[Int64s, Int32s]:
    return delimited.parse_times(buffer, spans.starts, spans.ends)


def _decimals(buffer: Bytes, spans: Spans) -> tuple[Any, Int32s]:
    """Finite numbers; NaN where there is none."""
    data, offsets = gather(buffer, spans.starts, spans.ends)
    try:
        texts = Names(data, offsets).to_arrow()
        numbers = pc.if_else(pc.equal(texts, ""), None, texts).cast(pa.float64())
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return _decimals_one_by_one(buffer, spans)
    values = np.array(numbers.to_numpy(zero_copy_only=False))
    empty = np.asarray(numbers.is_null())
    if not (np.isfinite(values) | empty).all():
        return _decimals_one_by_one(buffer, spans)
    return values, np.zeros(len(values), np.int32)


def _decimals_one_by_one(buffer: Bytes, spans: Spans) -> tuple[Any, Int32s]:
    values = np.full(len(spans.starts), np.nan)
    status = np.zeros(len(values), np.int32)
    text = buffer.tobytes()
    bounds = zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)
    for i, (start, end) in enumerate(bounds):
        if end > start:
            values[i], good = _decimal(text[start:end])
            status[i] = delimited.FIELD_OK if good else delimited.FIELD_NOT_DECIMAL
    return values, status


def _decimal(text: bytes) -> tuple[float, bool]:
    """A finite number. Not all that Python takes for one: no 1_000."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    good = math.isfinite(value) and b"_" not in text
    return (value, True) if good else (math.nan, False)


_NAMES = (
    *("topic", "subscriber", "name", "publisher", "user"),
    *("taxi", "zone", "pickup_zone", "dropoff_zone"),
)
_NUMBERS: dict[str, Callable[[Bytes, Spans], tuple[Any, Int32s]]] = {
    "rate": _counts,
    "bytes": _counts,
    "size": _counts,
    "time": _times,
    "pickup_time": _times,
    "dropoff_time": _times,
    "threshold": _counts,
    "x": _decimals,
    "y": _decimals,
}
