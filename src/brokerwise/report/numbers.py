"""How numbers are written for people."""

import math
from datetime import UTC, datetime
from decimal import Decimal

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DURATIONS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_DIGITS = 3
_TIMES = "\N{MULTIPLICATION SIGN}"


def counted(number: int, noun: str) -> str:
    """`1 topic`, `1,204 topics`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def significant(number: float) -> str:
    """Three digits that matter, all digits of what is left of the point."""
    if number == 0:
        return "0"
    if abs(number) >= 10 ** (_DIGITS - 1):
        return f"{number:,.0f}"
    if abs(number) >= 1e-4:
        return f"{number:.{_DIGITS}g}"
    mantissa, exponent = f"{number:.{_DIGITS - 1}e}".split("e")
    return f"{mantissa} {_TIMES} {power_of_ten(int(exponent))}"


def percent(share: float) -> str:
    """A share in percent; only the whole is 100 %."""
    text = significant(100 * share)
    return "> 99.9 %" if text == "100" and share < 1 else f"{text} %"


def percent_up(share: float) -> str:
    """A share in percent, three digits, rounded up: so that `at most` is true."""
    hundreds = 100 * share
    if hundreds <= 0:
        return "0 %"
    unit = 10.0 ** (min(0, math.floor(math.log10(hundreds)) - 2))
    return f"{significant(math.ceil(hundreds / unit - 1e-9) * unit)} %"


def dollars(usd: float) -> str:
    """`$340.20`, `$1,034`: cents below a thousand, three digits below ten cents."""
    if abs(usd) >= 1000:
        return f"${usd:,.0f}"
    return f"${usd:.2f}" if abs(usd) >= 0.1 else f"${significant(usd)}"


def duration(seconds: int) -> str:
    """`10 days`, `36 hours`: the largest unit that divides it."""
    noun, size = next((n, s) for n, s in _DURATIONS if seconds % s == 0)
    return counted(seconds // size, noun)


def point_in_time(seconds: float) -> str:
    """`2026-11-16 21:34:05 UTC`, of seconds since 1970: the same everywhere."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def power_of_ten(exponent: int) -> str:
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def tick(digits: str, exponent: int) -> str:
    """A label for `digits` times 10^exponent, exact and short."""
    number = Decimal(digits).scaleb(exponent)
    if exponent < -4:
        power = power_of_ten(exponent)
        return power if digits == "1" else f"{digits} {_TIMES} {power}"
    if exponent < 6:
        return f"{number:,f}"
    size, letter = (9, "G") if exponent >= 9 else (6, "M")
    return f"{number.scaleb(-size):,f} {letter}"
