"""Steps for the tests, run in worker processes by their name."""

import os
import signal
import sys
import time
from typing import Any


def doubled(value: int) -> int | None:
    """Twice the value; odd ones are dropped."""
    return None if value % 2 else 2 * value


def fragile(value: int) -> int:
    """Fails for multiples of 3, and dies of multiples of 5."""
    if value % 5 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if value % 3 == 0:
        raise ValueError(f"{value} is a multiple of 3")
    return value


def talking(value: Any) -> list[Any]:
    """Prints, and reads what is not for it."""
    print('{"problem": "not a reply"}', flush=True)  # noqa: T201
    os.write(1, b"nor this\n")
    return [value, sys.stdin.read()]


def waiting(value: str) -> str:
    """Marks that it has begun, and does not end."""
    with open(value, "w") as mark:
        mark.write(str(os.getpid()))
    while True:
        time.sleep(60)


def forking(value: int) -> int:
    """Leaves a child behind that holds our pipes for a while, and dies."""
    if os.fork() == 0:
        time.sleep(value)
    os._exit(3)


def shaped(value: str) -> Any:
    """Results of all kinds that cannot be sent."""
    return {"large": "x" * (2 << 20), "object": object(), "fine": {"a": [1, None]}}[
        value
    ]


not_a_function = 1
