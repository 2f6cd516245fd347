"""Messages a second as a moving average of a counter that only grows."""

from math import expm1

AVERAGE_SECONDS = 10.0  # what happened so long ago weighs 1/e of what happens now


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
        if not seconds > 0:
            raise ValueError(f"a time constant is above 0 seconds, not {seconds}")
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
