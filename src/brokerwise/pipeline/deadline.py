"""When the time that a run was given is over."""

import time
from collections.abc import Callable

from brokerwise.model.errors import InputError
from brokerwise.planners.control import never


def deadline(
    seconds: float | None, clock: Callable[[], float] = time.monotonic
) -> Callable[[], bool]:
    """Says whether so many seconds have passed since now; None is never."""
    if seconds is None:
        return never
    if not seconds > 0:
        raise InputError(f"seconds: found {seconds:g}, expected more than 0")
    end = clock() + seconds
    return lambda: clock() >= end
