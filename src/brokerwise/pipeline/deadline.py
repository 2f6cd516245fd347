"""When the time that a run was given is over."""

import time
from collections.abc import Callable

from brokerwise.model.errors import InputError


class Deadline:
    """Says whether so many seconds have passed since it was made; None is never."""

    def __init__(
        self, seconds: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if seconds is not None and not seconds > 0:
            raise InputError(f"seconds: found {seconds:g}, expected more than 0")
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def __call__(self) -> bool:
        return self._end is not None and self._clock() >= self._end
