"""Conversions between what people write and what the model counts.

Inside, everything is whole numbers: messages (or bytes) per workload period.
This is the one place where Mbit/s, days and dollars become those, and back.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from math import isfinite

import numpy as np

from brokerwise.model.arrays import INT64_MAX
from brokerwise.model.errors import InputError

BYTES_PER_GIGABYTE = 10**9
HOURS_PER_MONTH = 730
SECONDS_PER_HOUR = 3600
MOST_USD = 1e12

_MOST_DIGITS = 17  # what tells any two floating-point numbers from each other

_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MILLIMETRES = {"": 1000, "m": 1000, "km": 10**6}
_BITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
# Commas and underscores only between thousands: 1,5kB is refused, not read as 15 kB.
_NUMBER = re.compile(
    r"\s*((?:[0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)\s*([A-Za-z/%]*)\s*"
)


def parse_seconds(text: str, field: str = "duration") -> int:
    """`10d`, `36h`, `90min`, `45s` or plain seconds; a whole number above zero."""
    return _whole(text, _SECONDS, field, "10d, 36h, 90min, 45s or whole seconds")


def parse_bytes(text: str, field: str = "size") -> int:
    """`200B`, `1.5kB`, `8MB` or plain bytes; a whole number above zero."""
    return _whole(text, _BYTES, field, "200B, 1.5kB, 8MB or whole bytes")


def parse_millimetres(text: str, field: str = "length") -> int:
    """`500m`, `1.5km` or plain metres; whole millimetres above zero."""
    return _whole(text, _MILLIMETRES, field, "500m, 1.5km or plain metres")


def parse_capacity(
    text: str, period_seconds: int, message_bytes: int, field: str = "capacity"
) -> int:
    """A broker's capacity in messages per period, from a count or a bandwidth.

    `64Mbit/s` is floor(64e6 / 8 * period / message_bytes).
    """
    number, unit = _split(text, field, "a whole number of messages, or 64Mbit/s")
    if unit in _BITS:
        capacity = number * _BITS[unit] * period_seconds / (8 * message_bytes)
    elif unit == "" and number.denominator == 1:
        capacity = number
    else:
        raise InputError(
            f"{field}: found {text!r}, expected a whole number of messages per "
            "period, or a bandwidth such as 64Mbit/s"
        )
    return checked_count(int(capacity), field, least=1)


def parse_rate(text: str, field: str = "rate") -> float:
    """`100/s`, `90/min`, `10/h` or a plain number, as a number a second above zero."""
    number, unit = _split(text, field, "100/s, 90/min or 10/h")
    units = {f"/{name}": seconds for name, seconds in _SECONDS.items()}
    seconds = {"": 1, **units}.get(unit, 0)
    if not number or not seconds:
        raise InputError(f"{field}: found {text!r}, expected 100/s, 90/min or 10/h")
    return float(number / seconds)


def parse_byte_rate(text: str, field: str = "rate") -> float:
    """`300MB/s`, `64Mbit/s` or plain bytes a second, as bytes a second; 0 is one."""
    expected = "300MB/s, 64Mbit/s or plain bytes a second"
    number, unit = _split(text, field, expected)
    units = {f"{name}/s": Fraction(size) for name, size in _BYTES.items()}
    units |= {name: Fraction(size, 8) for name, size in _BITS.items()}
    if unit and unit not in units:
        raise InputError(f"{field}: found {text!r}, expected {expected}")
    return float(number * units.get(unit, 1))


def parse_share(text: str, field: str = "share") -> float:
    """`3%` or `0.5 %` as a number from 0 to 1."""
    number, unit = _split(text, field, "a percentage such as 3%")
    if unit != "%" or number > 100:
        raise InputError(
            f"{field}: found {text!r}, expected a percentage from 0% to 100%"
        )
    return float(number / 100)


def checked_count(value: int, field: str, least: int = 0) -> int:
    """The value as a plain int, if it is a count that fits in 64 bits."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and least <= value <= INT64_MAX):
        plain = value.item() if isinstance(value, np.generic) else value
        found = f"{plain:,}" if whole else repr(plain)
        raise InputError(
            f"{field}: found {found}, expected a whole number "
            f"from {least:,} to {INT64_MAX:,}"
        )
    return int(value)


def checked_price(value: float, field: str) -> float:
    """The value as a plain float, if it is a price in dollars."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and isfinite(value) and 0 <= value <= MOST_USD):
        raise InputError(
            f"{field}: found {value!r}, expected zero or more dollars, "
            f"at most {MOST_USD:,.0f}"
        )
    return float(value)


def gigabytes(messages: int, message_bytes: int) -> float:
    """The volume of `messages`, in GB of 1e9 bytes."""
    return int(messages) * int(message_bytes) / BYTES_PER_GIGABYTE


def megabits_per_second(
    messages: int, period_seconds: int, message_bytes: int
) -> float:
    """The bandwidth of `messages` per period."""
    return int(messages) * int(message_bytes) * 8 / (int(period_seconds) * 10**6)


def hours(seconds: int) -> float:
    return seconds / SECONDS_PER_HOUR


def told_apart(write: Callable[[float, int], str], *numbers: float) -> tuple[str, ...]:
    """Numbers for one sentence: those that differ are also written differently.

    `write` writes a number with so many digits more than usual; it is asked for as few
    as do.
    """
    for more in range(_MOST_DIGITS):
        texts = tuple(write(number, more) for number in numbers)
        if len(set(texts)) == len(set(numbers)):
            return texts
    return tuple(map(repr, numbers))


def _split(text: str, field: str, expected: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InputError(f"{field}: found {text!r}, expected {expected}")
    return Fraction(match[1].replace(",", "").replace("_", "")), match[2]


def _whole(text: str, units: dict[str, int], field: str, expected: str) -> int:
    number, unit = _split(text, field, expected)
    value = number * {"": 1, **units}.get(unit, 0)
    if value < 1 or value.denominator != 1:
        raise InputError(f"{field}: found {text!r}, expected {expected}")
    return checked_count(int(value), field, least=1)
