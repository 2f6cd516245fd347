"""Rows of delimited text, found in a buffer without copying it.

A row is a line. A field may be quoted, with quotes inside it doubled; a quote
that is not closed on its line spoils the row, and only that row.
"""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Bytes, Int32s, Int64s

WHITESPACE = 0  # as a delimiter: any run of spaces and tabs

ROW_OK = 0
ROW_ESCAPED = 1  # good, but a wanted field holds doubled quotes
ROW_WIDTH = 2  # not the expected number of columns
ROW_QUOTE = 3  # a quote that is not closed, or text after a closing quote
ROW_TOO_LONG = 4  # longer than any sensible row: no names, no use
MAX_LINE_BYTES = 1 << 20

_NEWLINE, _RETURN, _QUOTE, _SPACE, _TAB, _HASH = 10, 13, 34, 32, 9, 35


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
    of columns found, and the number of rows. Blank lines are no rows, nor are
    lines that start with # where the delimiter is white space.
    """
    # Zeros, so that a column that a row lacks is an empty span of the buffer.
    starts = np.zeros((wanted, lines), np.int32)
    ends = np.zeros((wanted, lines), np.int32)
    row_start = np.empty(lines, np.int32)
    status = np.zeros(lines, np.int32)
    found = np.zeros(lines, np.int32)
    row = 0
    at = 0
    size = len(buffer)
    while at < size:
        begin = at
        if buffer[at] == _NEWLINE:
            at += 1
            continue
        if buffer[at] == _RETURN and (at + 1 == size or buffer[at + 1] == _NEWLINE):
            at += 2
            continue
        if delimiter == WHITESPACE:
            while at < size and (buffer[at] == _SPACE or buffer[at] == _TAB):
                at += 1
            if at == size or buffer[at] == _HASH or buffer[at] == _NEWLINE:
                while at < size and buffer[at] != _NEWLINE:
                    at += 1
                at += 1
                continue
        row_start[row] = begin
        column = 0
        state = ROW_OK
        while True:
            start = at
            end = at
            escaped = False
            if buffer[at] == _QUOTE if at < size else False:
                at += 1
                start = at
                closed = False
                while at < size and buffer[at] != _NEWLINE:
                    if buffer[at] == _QUOTE:
                        if at + 1 < size and buffer[at + 1] == _QUOTE:
                            escaped = True
                            at += 2
                            continue
                        closed = True
                        break
                    at += 1
                end = at
                if closed:
                    at += 1
                    if at < size and buffer[at] == _RETURN:
                        if at + 1 == size or buffer[at + 1] == _NEWLINE:
                            at += 1
                else:
                    state = ROW_QUOTE
                ends_here = at >= size or buffer[at] == _NEWLINE
                if not ends_here:
                    if delimiter == WHITESPACE:
                        if buffer[at] != _SPACE and buffer[at] != _TAB:
                            state = ROW_QUOTE
                    elif buffer[at] != delimiter:
                        state = ROW_QUOTE
                    if state == ROW_QUOTE:
                        while at < size and buffer[at] != _NEWLINE:
                            at += 1
            elif delimiter == WHITESPACE:
                while at < size and buffer[at] > _SPACE:
                    at += 1
                while (
                    at < size
                    and buffer[at] != _SPACE
                    and buffer[at] != _TAB
                    and buffer[at] != _NEWLINE
                ):
                    at += 1
                end = at
            else:
                while at < size and buffer[at] != delimiter and buffer[at] != _NEWLINE:
                    at += 1
                end = at
            last = at >= size or buffer[at] == _NEWLINE
            if last and end > start and buffer[end - 1] == _RETURN and end == at:
                end -= 1
            if column < len(place) and place[column] >= 0:
                starts[place[column], row] = start
                ends[place[column], row] = end
                if escaped and state == ROW_OK:
                    state = ROW_ESCAPED
            column += 1
            if delimiter == WHITESPACE:
                while at < size and (buffer[at] == _SPACE or buffer[at] == _TAB):
                    at += 1
                # Blanks, or a carriage return, at the end of a line are no column.
                if (
                    at < size
                    and buffer[at] == _RETURN
                    and (at + 1 == size or buffer[at + 1] == _NEWLINE)
                ):
                    at += 1
                last = at >= size or buffer[at] == _NEWLINE
            elif not last:
                at += 1
            if last:
                at += 1
                break
        if column != width and state != ROW_QUOTE:
            state = ROW_WIDTH
        if at - 1 - begin > MAX_LINE_BYTES:
            state = ROW_TOO_LONG
        status[row] = state
        found[row] = column
        row += 1
    return starts, ends, row_start, status, found, row
