"""How numbers are written for people."""

import math
from datetime import UTC, datetime
from decimal import Decimal

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DURATIONS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_DIGITS = 3
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = "\N{MULTIPLICATION SIGN}"


def counted(number: int, noun: str) -> str:
    """`1 topic`, `1,204 topics`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def significant(number: float, more: int = 0) -> str:
    """Three digits that matter, or so many more; all digits of what is left of the
    point."""
    if number == 0:
        return "0"
    if abs(number) >= 10 ** (_DIGITS - 1):
        return f"{number:,.{more}f}"
    if _rounded(number, more) >= 1e-4:
        return f"{number:.{_DIGITS + more}g}"
    mantissa, exponent = f"{number:.{_DIGITS - 1 + more}e}".split("e")
    return f"{mantissa} {_TIMES} {power_of_ten(int(exponent))}"


def _rounded(number: float, more: int) -> float:
    """The size that is written: what rounds to a larger unit is written as one."""
    return float(f"{abs(number):.{_DIGITS + more}g}")


def short(number: float) -> str:
    """`1.19 M`, `45.2 k`, `873`: three digits."""
    for size, letter in _SIZES:
        if abs(number) >= size * 0.9995:
            return f"{significant(number / size)} {letter}"
    return significant(number)


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


def dollars(usd: float, more: int = 0) -> str:
    """`$340.20`, `$1,034`: cents below a thousand, three digits below ten cents; and
    `more` digits, of which those of a thousand are cents first."""
    if float(f"{abs(usd):.{2 + more}f}") >= 1000:
        return f"${usd:,.{more + 1 if more else 0}f}"
    if _rounded(usd, more) >= 0.1:
        return f"${usd:.{2 + more}f}"
    return f"${significant(usd, more)}"


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
