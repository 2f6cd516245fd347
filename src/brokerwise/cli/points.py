"""Where something is, on the command line: X,Y."""

from math import isfinite

from brokerwise.model.errors import InputError

Point = tuple[float, float]


def parse_point(option: str, text: str) -> Point:
    """`X,Y` in any one unit, the same for users and brokers."""
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        x = y = float("nan")
    if not (isfinite(x) and isfinite(y)):
        raise InputError(f"{option}: found {text!r}, expected X,Y, as in 2500,700")
    return x, y
