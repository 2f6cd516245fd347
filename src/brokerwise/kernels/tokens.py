"""Rows of delimited text, found in a buffer without copying it.

A row is a line. A field may be quoted, with quotes inside it doubled; a quote
that is not closed on its line spoils the row, and only that row.
"""

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

# Without a sign: an index that may be negative costs a test each time.
At = np.uint64


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
def _next_field(buffer: Bytes, at: At, delimiter: int) -> tuple[At, bool]:
    """From a delimiter to the next field; or to the end of the line, if blanks
    are all that follows."""
    if delimiter != WHITESPACE:
        return at + At(1), False
    at = _after_blanks(buffer, at, delimiter)
    if _line_ends(buffer, at):
        return _to_newline(buffer, at), True
    return at, False


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
