"""When each message of a period is sent: every topic evenly, all of them mixed."""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from math import sqrt

_GOLDEN = (sqrt(5) - 1) / 2


def schedule(counts: Sequence[int]) -> Iterator[tuple[float, int]]:
    """(share of the period, index) of each message, in the order of time.

    Message j of `counts[i]` comes at (j + phase) / counts[i] of the period; the
    phases differ, so that topics of one rate do not all speak at once. O(log n) a
    message, and O(n) memory.
    """
    pending = [
        ((i * _GOLDEN) % 1 / count, i, 0) for i, count in enumerate(counts) if count
    ]
    heapify(pending)
    while pending:
        at, i, sent = pending[0]
        yield at, i
        if sent + 1 < counts[i]:
            heapreplace(pending, (at + 1 / counts[i], i, sent + 1))
        else:
            heappop(pending)
