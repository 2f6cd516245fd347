"""Many names in two arrays; and names and rates as callers have them: lists,
dictionaries, numpy, pandas, Arrow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from brokerwise.model.arrays import Bytes, Int64s, freeze_arrays
from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count

MAX_NAME_BYTES = 1024

Labels: TypeAlias = (
    Sequence[str] | Sequence[int] | npt.NDArray[Any] | pa.Array | pa.ChunkedArray
)
Rates: TypeAlias = (
    Mapping[str, int] | Mapping[int, int] | Sequence[int] | npt.NDArray[Any]
)

_ARROW = (pa.Array, pa.ChunkedArray)
_NAMEABLE = (
    types.is_integer,
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
)
_NOT_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError)


@dataclass(frozen=True, eq=False, repr=False)
class Names:
    """UTF-8 names, one after the other in `data`; name i starts at `offsets[i]`.

    Thirty million of them take a few hundred megabytes and no Python objects.
    """

    data: Bytes
    offsets: Int64s

    def __post_init__(self) -> None:
        freeze_arrays(self, "names", data=np.uint8, offsets=np.int64)
        offsets, data = self.offsets, self.data
        if (
            len(offsets) == 0
            or offsets[0] < 0
            or offsets[-1] > len(data)
            or (offsets[1:] < offsets[:-1]).any()
        ):
            raise InputError(
                f"names: {len(offsets):,} offsets must rise within the "
                f"{len(data):,} bytes of text"
            )

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        try:
            encoded = [name.encode() for name in names]
        except UnicodeEncodeError as cause:
            raise InputError(f"name {cause.object!r}: not valid Unicode") from cause
        lengths = np.fromiter((len(e) for e in encoded), np.int64, len(encoded))
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def numbered(cls, count: int) -> "Names":
        """The numbers from 0, with as many digits each as the last one needs, so
        that they are in order as names too."""
        digits = pa.array(np.arange(count)).cast(pa.string())
        width = len(str(max(count - 1, 0)))
        return cls.from_arrow(pc.utf8_lpad(digits, width, "0"))

    @classmethod
    def from_arrow(cls, array: pa.Array | pa.ChunkedArray) -> "Names":
        """The names of a column of text, or of numbers as text; none may be null."""
        if array.null_count:
            raise InputError(f"names: found {array.null_count:,} nulls, expected none")
        array = array.cast(pa.large_string())
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        _, offsets, data = array.buffers()
        if len(array) == 0 or data is None:
            return cls(np.zeros(0, np.uint8), np.zeros(len(array) + 1, np.int64))
        ends = np.frombuffer(offsets, np.int64)
        ends = ends[array.offset : array.offset + len(array) + 1]
        text = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
        return cls(text, ends - ends[0])

    def to_arrow(self) -> pa.Array:
        """The names as an Arrow string array, large only if it must be."""
        large = self.offsets[-1] > np.iinfo(np.int32).max
        offsets = self.offsets if large else self.offsets.astype(np.int32)
        kind = pa.LargeStringArray if large else pa.StringArray
        return kind.from_buffers(
            len(self), pa.py_buffer(offsets), pa.py_buffer(self.data)
        )

    def compact(self) -> "Names":
        """The same names, with text that starts at 0 and holds nothing else."""
        start, end = self.offsets[0], self.offsets[-1]
        return Names(self.data[start:end], self.offsets - start)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        start, end = self.offsets[index], self.offsets[index + 1]
        return self.data[start:end].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"Names({len(self):,}: {shown}{', ...' if len(self) > 3 else ''})"

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}

    def find(self, name: str) -> int | None:
        """The position of a name, or None. The first call indexes all names."""
        return self._index.get(name)


def as_names(labels: Labels, field: str) -> pa.Array:
    """Labels as text: text as it is, whole numbers in decimal, nothing else.

    A label of 1 and one of "1" are the same name, but a sequence holds one kind.
    """
    try:
        array = labels if isinstance(labels, _ARROW) else pa.array(labels)
        if not (_nameable(array.type) or len(array) == 0):
            raise pa.ArrowInvalid(f"found {array.type}")
        names = array.cast(pa.large_string())
    except _NOT_ARROW as cause:
        raise InputError(
            f"{field}: expected names, all text or all whole numbers: {cause}"
        ) from cause
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    lengths = pc.min_max(pc.binary_length(names)).as_py()
    if names.null_count or lengths["min"] == 0:
        raise InputError(f"{field}: found an empty name")
    if (lengths["max"] or 0) > MAX_NAME_BYTES:
        raise InputError(
            f"{field}: found a name of {lengths['max']:,} bytes, "
            f"expected at most {MAX_NAME_BYTES:,}"
        )
    return names


def topic_rates(rates: Rates) -> tuple[pa.Array, Int64s]:
    """Names and rates of topics, in the order given.

    A mapping (or a pandas Series) goes from topic to rate; anything else is an
    array indexed by topics that are the numbers from 0.
    """
    labels: Any
    values: Any
    if isinstance(rates, Mapping):
        labels, values = list(rates), list(rates.values())
    elif hasattr(rates, "keys"):
        labels, values = rates.keys(), np.asarray(rates)
    else:
        labels, values = np.arange(len(rates)), rates
    names = as_names(labels, "topics of rates")
    if pc.count_distinct(names).as_py() < len(names):
        raise InputError("rates: found a topic twice")
    return names, _counts(values, names)


def _counts(values: Any, names: pa.Array) -> Int64s:
    try:
        array = values if isinstance(values, _ARROW) else pa.array(values)
        if types.is_integer(array.type) and not array.null_count:
            counts: Int64s = np.asarray(array.cast(pa.int64()))
            if counts.min(initial=0) >= 0:
                return counts
    except _NOT_ARROW:
        pass
    # Something is wrong with one of them: only now is it worth looking one by one.
    checked = [
        checked_count(
            value.as_py() if isinstance(value, pa.Scalar) else value,
            f"rate of topic {name.as_py()!r}",
        )
        for name, value in zip(names, values, strict=True)
    ]
    return np.array(checked, np.int64)


def _nameable(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(accepts(kind) for accepts in _NAMEABLE)
