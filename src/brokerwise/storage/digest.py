"""Digests of data, the same however it is split into files.

A table's digest is SHA-256 over the digests of its canonical blocks of 65,536
ids, so blocks can be hashed where they are written and in any order.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.model.interests import BLOCK as BLOCK
from brokerwise.model.names import Names


def block_digest(*columns: npt.NDArray[Any] | Names | None) -> bytes:
    """The digest of one block: each column's length and little-endian values.

    Equal numbers of one type have equal digests: there is one zero and one NaN.
    """
    digest = hashlib.sha256()
    for column in columns:
        for values in _values(column):
            little = values.astype(values.dtype.newbyteorder("<"), copy=False)
            digest.update(len(values).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(little).data)
    return digest.digest()


def table_digest(blocks: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(blocks)).hexdigest()


def json_digest(content: Any) -> str:
    """The digest of a small JSON value, whatever the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _values(column: npt.NDArray[Any] | Names | None) -> list[npt.NDArray[Any]]:
    if column is None:
        return [np.zeros(0, np.uint8)]
    if isinstance(column, Names):
        start, end = column.offsets[0], column.offsets[-1]
        return [np.diff(column.offsets), column.data[start:end]]
    if column.dtype.kind == "f":
        column = column + 0.0  # -0.0 becomes 0.0
        column[np.isnan(column)] = np.nan
    return [column]
