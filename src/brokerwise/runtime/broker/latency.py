"""Latencies of a topic: a histogram small enough for each topic to have one."""

from math import ceil

# Whole microseconds below 2^6 are counted apart; above, each power of two is cut into
# 2^5 buckets of equal width: half a bucket is at most 1/64 of the values in it.
_BITS = 5
_EXACT = 1 << (_BITS + 1)
_MOST = (1 << 32) - 1  # microseconds, over an hour: what is above counts as this
RELATIVE_ERROR = 1 / _EXACT


class LatencyHistogram:
    """Counts of latencies in whole microseconds.

    A percentile is that of nearest rank, off by at most `RELATIVE_ERROR` of itself.
    Recording costs a few operations on small integers; memory grows with the largest
    latency seen, to 896 counts at most.
    """

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: list[int] = []

    def record(self, microseconds: int, times: int = 1) -> None:
        """Below 0, which clocks that differ give, counts as 0."""
        if not 0 <= microseconds <= _MOST:
            microseconds = min(max(microseconds, 0), _MOST)
        shift = microseconds.bit_length() - _BITS - 1
        if shift > 0:
            index = (shift << _BITS) + (microseconds >> shift)
        else:
            index = microseconds
        try:
            self.counts[index] += times
        except IndexError:
            self.counts += [0] * (index + 1 - len(self.counts))
            self.counts[index] += times

    def merge(self, other: "LatencyHistogram") -> None:
        """Add all that another has recorded."""
        missing = len(other.counts) - len(self.counts)
        self.counts += [0] * missing
        for index, count in enumerate(other.counts):
            self.counts[index] += count

    def clear(self) -> None:
        self.counts.clear()

    @property
    def count(self) -> int:
        return sum(self.counts)

    def percentiles(self, *percents: float) -> list[int]:
        """Microseconds that so many percent of the latencies do not exceed, for each
        of some percents above 0 and up to 100; all 0 if there are none."""
        total = self.count
        return [self._at_rank(ceil(percent * total / 100)) for percent in percents]

    def _at_rank(self, rank: int) -> int:
        seen = 0
        for index, count in enumerate(self.counts):
            seen += count
            if seen >= rank:
                return middle(index)
        return 0


def middle(index: int) -> int:
    """The latency that stands for all in a bucket."""
    if index < _EXACT:
        return index
    shift = (index >> _BITS) - 1
    first = (index - (shift << _BITS)) << shift
    return first + ((1 << shift) - 1 >> 1)
