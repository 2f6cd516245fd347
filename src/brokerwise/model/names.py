"""Many names in two arrays."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.arrays import Bytes, Int64s, freeze_arrays
from brokerwise.model.errors import InputError

MAX_NAME_BYTES = 1024


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
