"""What the fields of a row say: names, whole numbers, times."""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bytes, Int32s, Int64s

FIELD_OK = 0
FIELD_EMPTY = 1
FIELD_TOO_LONG = 2
FIELD_NOT_UTF8 = 3
FIELD_NOT_A_NUMBER = 4
FIELD_NEGATIVE = 5
FIELD_OVERFLOW = 6
FIELD_NOT_A_TIME = 7
FIELD_NOT_TEXT = 8
FIELD_NOT_DECIMAL = 9

_MAX = 2**63 - 1
_ZERO, _NINE, _COLON = 48, 57, 58
_DOT, _COMMA, _PLUS, _MINUS, _SPACE = 46, 44, 43, 45, 32
_MICROS = 1_000_000


@kernel
def check_names(
    buffer: Bytes, starts: Int32s, ends: Int32s, longest: int, ascii_only: bool
) -> Int32s:
    """For each name: is it there, not too long, and valid UTF-8?"""
    status = np.zeros(len(starts), np.int32)
    for i in range(len(starts)):
        size = ends[i] - starts[i]
        if size == 0:
            status[i] = FIELD_EMPTY
        elif not ascii_only and not valid_utf8(buffer, starts[i], ends[i]):
            status[i] = FIELD_NOT_UTF8
        elif size > longest:
            status[i] = FIELD_TOO_LONG
    return status


@leaf
def valid_utf8(buffer: Bytes, start: int, end: int) -> bool:
    """Whether some bytes are well-formed UTF-8 (RFC 3629: no surrogates, no
    overlong forms, nothing past U+10FFFF)."""
    at = start
    while at < end:
        lead = buffer[at]
        if lead < 0x80:
            at += 1
            continue
        if 0xC2 <= lead <= 0xDF:
            more, low, high = 1, 0x80, 0xBF
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            low = 0xA0 if lead == 0xE0 else 0x80
            high = 0x9F if lead == 0xED else 0xBF
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            low = 0x90 if lead == 0xF0 else 0x80
            high = 0x8F if lead == 0xF4 else 0xBF
        else:
            return False
        if at + more >= end:
            return False
        if not low <= buffer[at + 1] <= high:
            return False
        for k in range(2, more + 1):
            if not 0x80 <= buffer[at + k] <= 0xBF:
                return False
        at += more + 1
    return True


@kernel
def parse_counts(buffer: Bytes, starts: Int32s, ends: Int32s) -> tuple[Int64s, Int32s]:
    """Whole numbers from 0 to 2^63 - 1, spaces around them ignored; a fraction of
    zeros is no fraction."""
    values = np.zeros(len(starts), np.int64)
    status = np.zeros(len(starts), np.int32)
    for i in range(len(starts)):
        at, end = _stripped(buffer, starts[i], ends[i])
        if at == end:
            status[i] = FIELD_EMPTY
            continue
        negative = False
        if at < end and (buffer[at] == _MINUS or buffer[at] == _PLUS):
            negative = buffer[at] == _MINUS
            at += 1
        value = np.int64(0)
        digits = 0
        overflow = False
        while at < end and _ZERO <= buffer[at] <= _NINE:
            digit = np.int64(buffer[at]) - _ZERO
            if value > (_MAX - digit) // 10:
                overflow = True
            else:
                value = value * 10 + digit
            digits += 1
            at += 1
        if at < end and buffer[at] == _DOT and digits > 0:
            at += 1
            while at < end and buffer[at] == _ZERO:
                at += 1
        if at < end or digits == 0:
            status[i] = FIELD_NOT_A_NUMBER
        elif negative and (value > 0 or overflow):
            status[i] = FIELD_NEGATIVE
        elif overflow:
            status[i] = FIELD_OVERFLOW
        else:
            values[i] = value
    return values, status


@kernel
def parse_times(buffer: Bytes, starts: Int32s, ends: Int32s) -> tuple[Int64s, Int32s]:
    """Microseconds since 1970, from Unix seconds (whole or decimal, up to twelve
    digits before the point) or from ISO 8601: 2013-01-09T12:00:00.5+01:00, where T
    may be a space, seconds or the whole time may be missing, and UTC is meant if no
    offset is given. Finer digits are cut off; spaces around it are ignored."""
    values = np.zeros(len(starts), np.int64)
    status = np.zeros(len(starts), np.int32)
    for i in range(len(starts)):
        at, end = _stripped(buffer, starts[i], ends[i])
        if end - at >= 10 and buffer[at + 4] == _MINUS and buffer[at + 7] == _MINUS:
            good, value = _iso_micros(buffer, at, end)
        else:
            good, value = _unix_micros(buffer, at, end)
        if good:
            values[i] = value
        else:
            status[i] = FIELD_EMPTY if at == end else FIELD_NOT_A_TIME
    return values, status


@leaf
def _stripped(buffer: Bytes, start: int, end: int) -> tuple[int, int]:
    while start < end and buffer[start] == _SPACE:
        start += 1
    while start < end and buffer[end - 1] == _SPACE:
        end -= 1
    return start, end


@leaf
def _digits(buffer: Bytes, start: int, count: int, end: int) -> int:
    """The number in exactly so many digits, or -1."""
    if start + count > end:
        return -1
    value = 0
    for k in range(start, start + count):
        if not _ZERO <= buffer[k] <= _NINE:
            return -1
        value = value * 10 + int(buffer[k]) - _ZERO
    return value


@leaf
def _fraction(buffer: Bytes, at: int, end: int) -> tuple[int, int]:
    """Microseconds of the digits from `at` on, and where they end."""
    micros = 0
    scale = 100_000
    while at < end and _ZERO <= buffer[at] <= _NINE:
        micros += (int(buffer[at]) - _ZERO) * scale
        scale //= 10
        at += 1
    return micros, at


@leaf
def _unix_micros(buffer: Bytes, at: int, end: int) -> tuple[bool, int]:
    sign = 1
    if at < end and buffer[at] == _MINUS:
        sign = -1
        at += 1
    value = 0
    digits = 0
    while at < end and _ZERO <= buffer[at] <= _NINE:
        value = value * 10 + int(buffer[at]) - _ZERO
        digits += 1
        at += 1
    micros = 0
    if at < end and buffer[at] == _DOT:
        micros, at = _fraction(buffer, at + 1, end)
    good = at == end and 0 < digits <= 12
    return good, sign * (value * _MICROS + micros) if good else 0


@leaf
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar."""
    shifted = year - (1 if month <= 2 else 0)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@leaf
def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@leaf
def _iso_micros(buffer: Bytes, at: int, end: int) -> tuple[bool, int]:
    year, month = _digits(buffer, at, 4, end), _digits(buffer, at + 5, 2, end)
    day = _digits(buffer, at + 8, 2, end)
    if year < 0 or not 1 <= month <= 12 or not 1 <= day <= _days_in_month(year, month):
        return False, 0
    micros = _days(year, month, day) * 86400 * _MICROS
    at += 10
    if at == end:
        return True, micros
    if buffer[at] != 84 and buffer[at] != 116 and buffer[at] != _SPACE:  # T or t
        return False, 0
    good, time, at = _time_micros(buffer, at + 1, end)
    if not good:
        return False, 0
    good, offset = _offset_micros(buffer, at, end)
    return good, micros + time - offset


@leaf
def _time_micros(buffer: Bytes, at: int, end: int) -> tuple[bool, int, int]:
    """A time of day, hh:mm[:ss[.fraction]], and where it ends. The end of a day may
    be 24:00, and the last second of a minute before the hour is a leap second."""
    hour, minute = _digits(buffer, at, 2, end), _digits(buffer, at + 3, 2, end)
    if hour < 0 or not 0 <= minute <= 59 or buffer[at + 2] != _COLON:
        return False, 0, at
    at += 5
    second, micros = 0, 0
    if at < end and buffer[at] == _COLON:
        second = _digits(buffer, at + 1, 2, end)
        if not 0 <= second <= (60 if minute == 59 else 59):
            return False, 0, at
        at += 3
        if at + 1 < end and (buffer[at] == _DOT or buffer[at] == _COMMA):
            if _ZERO <= buffer[at + 1] <= _NINE:
                micros, at = _fraction(buffer, at + 1, end)
    micros += ((hour * 60 + minute) * 60 + second) * _MICROS
    return hour < 24 or micros == 24 * 3600 * _MICROS, micros, at


@leaf
def _offset_micros(buffer: Bytes, at: int, end: int) -> tuple[bool, int]:
    """What is left behind a time: nothing, Z, +hh, +hhmm or +hh:mm."""
    if at == end:
        return True, 0
    if buffer[at] == 90 or buffer[at] == 122:  # Z or z
        return at + 1 == end, 0
    if buffer[at] != _PLUS and buffer[at] != _MINUS:
        return False, 0
    sign = 1 if buffer[at] == _PLUS else -1
    hour, minute = _digits(buffer, at + 1, 2, end), 0
    at += 3
    if at < end:
        at += 1 if buffer[at] == _COLON else 0
        minute = _digits(buffer, at, 2, end)
        at += 2
    if at != end or not 0 <= hour <= 23 or not 0 <= minute <= 59:
        return False, 0
    return True, sign * (hour * 60 + minute) * 60 * _MICROS
