"""Cells of typed formats as the text that they would be in a text file."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES = (8, 13, 18, 23)


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
