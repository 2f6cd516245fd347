"""Rows of delimited text: found in a buffer without copying it, their fields read as
names, whole numbers and times, and rows of numbers written.

A row is a line. A field may be quoted, with quotes inside it doubled; a quote that is
not closed on its line spoils the row, and only that row.
"""

from collections.abc import Iterator

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bytes, Int32s, Int64s

WHITESPACE = 0  # as a delimiter: any run of spaces and tabs

ROW_OK = 0
ROW_ESCAPED = 1  # good, but a wanted field holds doubled quotes
ROW_WIDTH = 2  # not the expected number of columns
ROW_QUOTE = 3  # a quote that is not closed
ROW_TOO_LONG = 4  # longer than any sensible row: no names, no use
ROW_AFTER_QUOTE = 5  # text between a closing quote and the delimiter
MAX_LINE_BYTES = 1 << 20

_NEWLINE, _RETURN, _QUOTE, _SPACE, _TAB, _HASH = 10, 13, 34, 32, 9, 35
_ZERO, _NINE, _COLON, _DOT, _COMMA, _PLUS, _MINUS = 48, 57, 58, 46, 44, 43, 45

# Without a sign: an index that may be negative costs a test each time.
At = np.uint64

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
_MICROS = 1_000_000

_ROWS = 65_536  # so that the text of a chunk stays in the cache
_NUMBER_BYTES = 19
_TEN = np.uint64(10)


@kernel
def count_lines(buffer: Bytes) -> int:
    """How many lines a buffer has; the last one may lack its newline."""
    lines = 0
    for byte in buffer:
        if byte == _NEWLINE:
            lines += 1
    if len(buffer) and buffer[-1] != _NEWLINE:
        lines += 1
    return lines


@kernel
def split_rows(
    buffer: Bytes,
    delimiter: int,
    width: int,
    place: Int64s,
    lines: int,
    wanted: int,
) -> tuple[Int32s, Int32s, Int32s, Int32s, Int32s, int]:
    """The wanted fields of each row of a buffer of whole lines.

    `place[c]` is where column c goes among the `wanted` ones, or -1. Returns
    starts and ends (wanted x rows), the start of each row, its status, the number
    of columns found, and the number of rows. Lines of nothing but blanks are no
    rows, nor are comments: lines that start with # where the delimiter is white
    space. Any line that is too long is a row, and says so.
    """
    # Zeros, so that a column that a row lacks is an empty span of the buffer.
    starts = np.zeros((wanted, lines), np.int32)
    ends = np.zeros((wanted, lines), np.int32)
    row_start = np.empty(lines, np.int32)
    status = np.empty(lines, np.int32)
    found = np.empty(lines, np.int32)
    row, at = At(0), At(0)
    while at < At(len(buffer)):
        begin = at
        at, ignored = _first_field(buffer, at, delimiter)
        state, column = ROW_OK, At(0)
        if not ignored:
            column, end = _plain_row(buffer, at, delimiter, place, starts, ends, row)
            if column == At(0):
                state, column, end = _quoted_row(
                    buffer, at, delimiter, place, starts, ends, row
                )
            at = end
            if column != At(width) and state <= ROW_ESCAPED:
                state = ROW_WIDTH
        if at - begin > At(MAX_LINE_BYTES):
            state, ignored = ROW_TOO_LONG, False
        at += At(1)
        if not ignored:
            row_start[row], status[row], found[row] = begin, state, column
            row += At(1)
    return starts, ends, row_start, status, found, int(row)


@leaf
def _first_field(buffer: Bytes, at: At, delimiter: int) -> tuple[At, bool]:
    """Where the first field of a line starts; or its end, if it is no row."""
    first = _after_blanks(buffer, at, delimiter)
    blank = _line_ends(buffer, first)
    if blank or (delimiter == WHITESPACE and buffer[first] == _HASH):
        return _to_newline(buffer, first), True
    return first if delimiter == WHITESPACE else at, False


@leaf
def _plain_row(
    buffer: Bytes,
    at: At,
    delimiter: int,
    place: Int64s,
    starts: Int32s,
    ends: Int32s,
    row: At,
) -> tuple[At, At]:
    """The columns and the end of a row; 0 columns if a field is quoted.

    A loop of its own, because with quotes in it it is half as fast.
    """
    column = At(0)
    while True:
        if at < At(len(buffer)) and buffer[at] == _QUOTE:
            return At(0), at
        start, at = at, _field_end(buffer, at, delimiter)
        last = at >= At(len(buffer)) or buffer[at] == _NEWLINE
        end = at
        if last and end > start and buffer[end - At(1)] == _RETURN:
            end -= At(1)
        if column < At(len(place)) and place[column] >= 0:
            starts[At(place[column]), row] = start
            ends[At(place[column]), row] = end
        column += At(1)
        if last:
            return column, at
        if delimiter == WHITESPACE:
            at = _after_blanks(buffer, at, delimiter)
            if _line_ends(buffer, at):
                return column, _to_newline(buffer, at)
        else:
            at += At(1)


@leaf
def _quoted_row(
    buffer: Bytes,
    at: At,
    delimiter: int,
    place: Int64s,
    starts: Int32s,
    ends: Int32s,
    row: At,
) -> tuple[int, At, At]:
    """The status, the columns and the end of a row that may have quotes."""
    status = ROW_OK
    column = At(0)
    while True:
        wanted = column < At(len(place)) and place[column] >= 0
        start, end = at, at
        if at < At(len(buffer)) and buffer[at] == _QUOTE:
            start = at + At(1)
            end, at, state = _quoted_field(buffer, start, delimiter)
            if state > ROW_ESCAPED:
                return state, column + At(1), _to_newline(buffer, at)
            if wanted and state == ROW_ESCAPED:
                status = ROW_ESCAPED
        else:
            at = _field_end(buffer, at, delimiter)
            end = at
        last = at >= At(len(buffer)) or buffer[at] == _NEWLINE
        if last and end == at and end > start and buffer[end - At(1)] == _RETURN:
            end -= At(1)
        if wanted:
            starts[At(place[column]), row] = start
            ends[At(place[column]), row] = end
        column += At(1)
        if last:
            return status, column, at
        if delimiter == WHITESPACE:
            at = _after_blanks(buffer, at, delimiter)
            if _line_ends(buffer, at):
                return status, column, _to_newline(buffer, at)
        else:
            at += At(1)


@leaf
def _field_end(buffer: Bytes, at: At, delimiter: int) -> At:
    """Where a field without quotes ends: at a delimiter, a newline or the end."""
    size = At(len(buffer))
    if delimiter == WHITESPACE:
        while at < size and not _blank(buffer[at]) and buffer[at] != _NEWLINE:
            at += At(1)
    else:
        while at < size and buffer[at] != delimiter and buffer[at] != _NEWLINE:
            at += At(1)
    return at


@leaf
def _quoted_field(buffer: Bytes, start: At, delimiter: int) -> tuple[At, At, int]:
    """From behind a quote: where the field ends, where to go on, its status."""
    size = At(len(buffer))
    state = ROW_OK
    at = start
    while at < size and buffer[at] != _NEWLINE:
        if buffer[at] == _QUOTE:
            if at + At(1) >= size or buffer[at + At(1)] != _QUOTE:
                break
            state = ROW_ESCAPED
            at += At(1)
        at += At(1)
    if at >= size or buffer[at] != _QUOTE:
        return at, at, ROW_QUOTE
    after = at + At(1)
    if _line_ends(buffer, after):
        return at, _to_newline(buffer, after), state
    byte = buffer[after]
    if byte == delimiter or (delimiter == WHITESPACE and _blank(byte)):
        return at, after, state
    return at, after, ROW_AFTER_QUOTE


@leaf
def _blank(byte: np.uint8) -> bool:
    return byte in (_SPACE, _TAB)


@leaf
def _after_blanks(buffer: Bytes, at: At, delimiter: int) -> At:
    """The first byte that is no blank, or is the delimiter."""
    while at < At(len(buffer)) and _blank(buffer[at]) and buffer[at] != delimiter:
        at += At(1)
    return at


@leaf
def _line_ends(buffer: Bytes, at: At) -> bool:
    """Whether a line ends here; a carriage return may stand before its end."""
    if at < At(len(buffer)) and buffer[at] == _RETURN:
        at += At(1)
    return bool(at >= At(len(buffer)) or buffer[at] == _NEWLINE)


@leaf
def _to_newline(buffer: Bytes, at: At) -> At:
    while at < At(len(buffer)) and buffer[at] != _NEWLINE:
        at += At(1)
    return at


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
    """The number in exactly `count` digits, or -1."""
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


def csv_chunks(
    left_prefix: str, left: Int64s, right_prefix: str, right: Int64s
) -> Iterator[Bytes]:
    """Rows `<prefix><left>,<prefix><right>` as bytes; the numbers are not negative.

    All chunks share one buffer: use each before you ask for the next. About 25 ns
    a row. A number on the right that repeats the one above is copied.
    """
    left_lead = np.frombuffer(left_prefix.encode(), np.uint8)
    right_lead = np.frombuffer(right_prefix.encode(), np.uint8)
    row = len(left_lead) + len(right_lead) + 2 * _NUMBER_BYTES + 2
    text = np.empty(min(len(left), _ROWS) * row, np.uint8)
    for start in range(0, len(left), _ROWS):
        rows = slice(start, start + _ROWS)
        yield text[: write_rows(left_lead, left[rows], right_lead, right[rows], text)]


@kernel
def write_rows(
    left_lead: Bytes, left: Int64s, right_lead: Bytes, right: Int64s, text: Bytes
) -> int:
    """Write the rows into `text`, which must be long enough; returns their length."""
    end = 0
    tail_start = tail_end = 0
    for i in range(len(left)):
        end = _write_number(left_lead, left[i], text, end)
        start = end
        if i > 0 and right[i] == right[i - 1]:
            for k in range(tail_start, tail_end):
                text[end] = text[k]
                end += 1
        else:
            text[end] = _COMMA
            end = _write_number(right_lead, right[i], text, end + 1)
            text[end] = _NEWLINE
            end += 1
        tail_start, tail_end = start, end
    return end


@kernel
def _write_number(lead: Bytes, number: int, text: Bytes, at: int) -> int:
    for byte in lead:
        text[at] = byte
        at += 1
    rest = np.uint64(number)  # unsigned: a signed division floors, and costs more
    digits = 1
    while rest >= _TEN:
        rest //= _TEN
        digits += 1
    rest = np.uint64(number)
    for place in range(at + digits - 1, at - 1, -1):
        shorter = rest // _TEN
        text[place] = _ZERO + np.int64(rest - shorter * _TEN)
        rest = shorter
    return at + digits
