"""Lines of JSON, cut into batches that can be fed. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from brokerwise.runtime.limits import MAX_RECORD_BYTES

BATCH_BYTES = 4 << 20


@dataclass(frozen=True)
class Batch:
    """Lines in a row of what is fed.

    Attributes
    ----------
    body
        The lines. One that is too long is an empty line here, so that the others
        keep their numbers.
    first_line
        The number of the first, from 1.
    offset, length
        The bytes that it was made from.
    records
        Lines that are neither empty nor too long.
    too_long
        Numbers of the lines that are.
    """

    body: bytes
    first_line: int
    offset: int
    length: int
    records: int
    too_long: tuple[int, ...] = ()


class Batches:
    """Cuts a stream into batches of at most so many bytes, and so many records.

    The same stream is cut at the same places, whatever parts it comes in, as long as
    nobody calls `rest` before its end. Holds no more than a batch, a part and
    MAX_RECORD_BYTES.
    """

    def __init__(
        self, most_bytes: int = BATCH_BYTES, most_records: int | None = None
    ) -> None:
        self._most_bytes, self._most_records = most_bytes, most_records
        self._held: list[bytes] = []  # of the line that has not ended yet
        self._held_bytes = 0
        self._line = 1  # the number of that line
        self._begin(0)

    def add(self, part: bytes) -> Iterator[Batch]:
        """Batches that are full now."""
        *lines, rest = part.split(b"\n")
        for line in lines:
            self._hold(line)
            yield from self._end_line(1)
        self._hold(rest)

    def rest(self) -> Batch | None:
        """The whole lines that are in no batch yet."""
        return self._take() if self._lines else None

    def end(self) -> Iterator[Batch]:
        """The stream is over: also what has no end of line is a line."""
        if self._held_bytes:
            yield from self._end_line(0)
        if self._lines:
            yield self._take()

    def _hold(self, part: bytes) -> None:
        self._held_bytes += len(part)
        if self._held_bytes > MAX_RECORD_BYTES:
            self._held.clear()
        elif part:
            self._held.append(part)

    def _end_line(self, ending: int) -> Iterator[Batch]:
        line, size = b"".join(self._held), self._held_bytes
        self._held, self._held_bytes = [], 0
        if self._is_full(len(line) + 1):
            yield self._take()
        if size > MAX_RECORD_BYTES:
            self._too_long.append(self._line)
        self._records += bool(line.strip())
        self._lines.append(line)
        self._size += len(line) + 1
        self._length += size + ending
        self._line += 1

    def _is_full(self, more: int) -> bool:
        over = bool(self._lines) and self._size + more > self._most_bytes
        return over or self._records == self._most_records

    def _take(self) -> Batch:
        batch = Batch(
            b"\n".join([*self._lines, b""]),
            self._first_line,
            self._offset,
            self._length,
            self._records,
            tuple(self._too_long),
        )
        self._begin(self._offset + self._length)
        return batch

    def _begin(self, offset: int) -> None:
        self._offset, self._first_line = offset, self._line
        self._lines: list[bytes] = []
        self._too_long: list[int] = []
        self._size = self._length = self._records = 0
