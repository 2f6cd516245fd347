"""Instruments: the moving rate of a counter, a histogram of latencies that is small
enough for each topic to have one, and the text format that Prometheus reads."""

from collections.abc import Mapping
from math import ceil, expm1
from typing import Literal

AVERAGE_SECONDS = 10.0  # after which what happened weighs 1/e of what happens now


class MovingRate:
    """The exponentially weighted rate of a counter, looked at whenever convenient.

    What was counted between two looks is taken as spread evenly between them. So a
    constant rate is found exactly from the second look on, however irregular the
    looks are, and no counting costs anything: only a look does.
    """

    __slots__ = ("_at", "_seconds", "_sum", "_total", "_weight")

    def __init__(
        self, now: float, total: int = 0, seconds: float = AVERAGE_SECONDS
    ) -> None:
        """`total` is what the counter has at time `now`, in seconds of any clock that
        does not go backwards; `seconds` is the time constant."""
        self._seconds = seconds
        self._at = now
        self._total = total
        self._sum = 0.0
        self._weight = 0.0

    def look(self, total: int, now: float) -> float:
        """The rate a second, the counter being at `total` now.

        A look at the time of the last one, or before, leaves what was counted for the
        next. Before any time has passed the rate is 0.
        """
        passed = now - self._at
        if passed > 0:
            fresh = -expm1(-passed / self._seconds)  # the weight of this interval
            rate = (total - self._total) / passed
            self._sum += (rate - self._sum) * fresh
            self._weight += (1.0 - self._weight) * fresh
            self._at = now
            self._total = total
        return self.per_second

    @property
    def weight(self) -> float:
        """How much of an average over all time this is: 0 before any time has passed,
        then towards 1."""
        return self._weight

    @property
    def per_second(self) -> float:
        """The rate as of the last look."""
        return self._sum / self._weight if self._weight else 0.0


# Whole microseconds below 2^6 are counted apart; above, each power of two is cut into
# 2^5 buckets of equal width: half a bucket is at most 1/64 of the values in it.
_BITS = 5
_EXACT = 1 << (_BITS + 1)
_MOST = (1 << 32) - 1  # microseconds, over an hour: what is above counts as this


class LatencyHistogram:
    """Counts of latencies in whole microseconds.

    A percentile is that of nearest rank, off by at most 1/64 of itself.
    Recording costs a few operations on small integers; memory grows with the largest
    latency seen, to 896 counts at most.
    """

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: list[int] = []

    def record(self, microseconds: int) -> None:
        """Below 0, which clocks that differ give, counts as 0."""
        if not 0 <= microseconds <= _MOST:
            microseconds = min(max(microseconds, 0), _MOST)
        shift = microseconds.bit_length() - _BITS - 1
        if shift > 0:
            index = (shift << _BITS) + (microseconds >> shift)
        else:
            index = microseconds
        try:
            self.counts[index] += 1
        except IndexError:
            self.counts += [0] * (index + 1 - len(self.counts))
            self.counts[index] += 1

    def merge(self, other: "LatencyHistogram") -> None:
        """Add all that another has recorded."""
        missing = len(other.counts) - len(self.counts)
        self.counts += [0] * missing
        for index, count in enumerate(other.counts):
            self.counts[index] += count

    def percentiles(self, *percents: float) -> list[int]:
        """For each of some percents, above 0 and up to 100, the microseconds that this
        part of the latencies does not exceed; all 0 if there are none."""
        total = sum(self.counts)
        return [self._at_rank(ceil(percent * total / 100)) for percent in percents]

    def _at_rank(self, rank: int) -> int:
        seen = 0
        for index, count in enumerate(self.counts):
            seen += count
            if seen >= rank:
                return _middle(index)
        return 0


def _middle(index: int) -> int:
    """The latency that stands for all in a bucket."""
    if index < _EXACT:
        return index
    shift = (index >> _BITS) - 1
    first = (index - (shift << _BITS)) << shift
    return first + ((1 << shift) - 1 >> 1)


_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def metric_text(
    name: str,
    kind: Literal["counter", "gauge"],
    help: str,
    values: Mapping[tuple[str, ...], float],
    labels: tuple[str, ...] = (),
) -> str:
    """One metric in Prometheus's text format (version 0.0.4). The keys of `values` are
    the values of the labels; () without labels."""
    lines = [f"# HELP {name} {help}\n", f"# TYPE {name} {kind}\n"]
    for key, value in values.items():
        pairs = zip(labels, key, strict=True)
        inside = ",".join(f'{k}="{v.translate(_ESCAPES)}"' for k, v in pairs)
        lines.append(
            f"{name}{{{inside}}} {value!r}\n" if key else f"{name} {value!r}\n"
        )
    return "".join(lines)
