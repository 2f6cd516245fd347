"""Rows of delimited text, against the csv module and str.split."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import tokens
from brokerwise.kernels.tokens import (
    MAX_LINE_BYTES,
    ROW_AFTER_QUOTE,
    ROW_ESCAPED,
    ROW_OK,
    ROW_QUOTE,
    ROW_TOO_LONG,
    ROW_WIDTH,
    WHITESPACE,
)

COMMA, TAB = ord(","), ord("\t")


@dataclass(frozen=True)
class Row:
    """Where a row starts, what it is, and its wanted fields if it is good."""

    start: int
    status: int
    columns: int = 0
    fields: tuple[bytes, ...] = ()


def split(
    text: bytes, delimiter: int, width: int = 2, columns: Sequence[int] = (0, 1)
) -> list[Row]:
    """The rows that the kernel finds; doubled quotes resolved, escaped is good."""
    buffer = np.frombuffer(text, np.uint8)
    place = np.full(max(width, 1), -1, np.int64)
    place[list(columns)] = np.arange(len(columns))
    lines = tokens.count_lines(buffer)
    starts, ends, row_start, status, found, rows = tokens.split_rows(
        buffer, delimiter, width, place, lines, len(columns)
    )
    return [
        row_of(
            text,
            [(int(s), int(e)) for s, e in zip(starts[:, r], ends[:, r], strict=True)],
            int(row_start[r]),
            int(status[r]),
            int(found[r]),
        )
        for r in range(rows)
    ]


def row_of(
    text: bytes, spans: list[tuple[int, int]], start: int, status: int, found: int
) -> Row:
    for low, high in spans:
        line_end = (text + b"\n").index(b"\n", start)
        assert (low, high) == (0, 0) or start <= low <= high <= line_end
    if status == ROW_WIDTH:
        return Row(start, status, found)
    if status > ROW_ESCAPED:
        return Row(start, status)
    quoted = [low > 0 and text[low - 1 : low] == b'"' for low, _ in spans]
    raw = [text[low:high] for low, high in spans]
    doubled = any(q and b'""' in field for q, field in zip(quoted, raw, strict=True))
    assert status == (ROW_ESCAPED if doubled else ROW_OK)
    fields = (
        field.replace(b'""', b'"') if q else field
        for q, field in zip(quoted, raw, strict=True)
    )
    return Row(start, ROW_OK, found, tuple(fields))


def lines_of(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Each line with its position, without newline and one carriage return."""
    at = 0
    for line in text.split(b"\n"):
        yield at, line.removesuffix(b"\r")
        at += len(line) + 1


def by_csv(
    text: bytes, delimiter: int, width: int = 2, columns: Sequence[int] = (0, 1)
) -> list[Row]:
    blanks = b" \t".replace(bytes([delimiter]), b"")
    rows = []
    for at, line in lines_of(text):
        if line.strip(blanks):
            rows.append(judged(at, csv_cells(line, chr(delimiter)), width, columns))
    return rows


def csv_cells(line: bytes, delimiter: str) -> list[str] | int:
    """The cells of a line, or what is wrong with its quotes."""
    text = line.decode("latin-1")
    try:
        (row,) = csv.reader([text], delimiter=delimiter, strict=True)
    except csv.Error as error:
        unclosed = str(error) == "unexpected end of data"
        return ROW_QUOTE if unclosed else ROW_AFTER_QUOTE
    return row


def by_split(text: bytes, width: int = 2, columns: Sequence[int] = (0, 1)) -> list[Row]:
    """White space, where no field is quoted."""
    rows = []
    for at, line in lines_of(text):
        bare = line.strip(b" \t")
        if bare and not bare.startswith(b"#"):
            cells = [c.decode("latin-1") for c in re.split(rb"[ \t]+", bare)]
            rows.append(judged(at, cells, width, columns))
    return rows


def judged(at: int, cells: list[str] | int, width: int, columns: Sequence[int]) -> Row:
    if isinstance(cells, int):
        return Row(at, cells)
    if len(cells) != width:
        return Row(at, ROW_WIDTH, len(cells))
    fields = (cells[c].encode("latin-1") for c in columns)
    return Row(at, ROW_OK, width, tuple(fields))


def texts(*pieces: str) -> st.SearchStrategy[bytes]:
    """Texts of such pieces, and of line ends; the last line may lack its own."""
    piece = st.sampled_from([*pieces, "\n", "\n", "\r\n"])
    joined = st.lists(piece, max_size=25).map("".join)
    return st.tuples(joined, st.sampled_from(["", "\r", "\n"])).map(
        lambda t: "".join(t).encode()
    )


DELIMITED = texts("a", "b", "é", " ", "\t", "\t", ",", ",", '"', '"', '""', "#", "\0")
BLANKED = texts("a", "b", "é", " ", "  ", "\t", "#", ",", "\x0b", "\x1f", "\0")


@settings(max_examples=examples(400))
@given(DELIMITED, st.sampled_from([COMMA, TAB]), st.integers(1, 4))
def test_rows_are_those_of_the_csv_module(
    text: bytes, delimiter: int, width: int
) -> None:
    columns = range(min(width, 2))
    assert split(text, delimiter, width, columns) == by_csv(
        text, delimiter, width, columns
    )


@settings(max_examples=examples(300))
@given(BLANKED, st.integers(1, 4))
def test_white_space_separates_as_split_does(text: bytes, width: int) -> None:
    columns = range(min(width, 2))
    assert split(text, WHITESPACE, width, columns) == by_split(text, width, columns)


CELL = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


@given(
    st.lists(st.tuples(CELL, CELL, CELL)),
    st.sampled_from([COMMA, TAB]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_what_the_csv_module_writes_is_read_back(
    rows: list[tuple[str, str, str]], delimiter: int, end: str, every: bool
) -> None:
    lines: list[str] = []
    for row in rows:
        written = Collected()
        csv.writer(
            written,
            delimiter=chr(delimiter),
            lineterminator=end,
            quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL,
        ).writerow(row)
        lines += written.parts
    text = "".join(lines).encode()
    found = split(text, delimiter, 3, (2, 0))
    assert [r.fields for r in found] == [(c.encode(), a.encode()) for a, _, c in rows]


class Collected:
    """A file that keeps what is written to it."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return len(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"a b"  c', (b"a b", b"c")),
        ('c\t"a\tb" ', (b"c", b"a\tb")),
        ('"a ""b""" "c"\r', (b'a "b"', b"c")),
        ('"" ""', (b"", b"")),
        ('a"b c""d', (b'a"b', b'c""d')),
        ('  "#a" b', (b"#a", b"b")),
    ],
)
def test_quotes_hold_blanks_together(line: str, expected: tuple[bytes, ...]) -> None:
    assert split(line.encode(), WHITESPACE) == [Row(0, ROW_OK, 2, expected)]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ('"a', ROW_QUOTE),
        ('b "a', ROW_QUOTE),
        ('"a"" b', ROW_QUOTE),
        ('"a"b c', ROW_AFTER_QUOTE),
        ('c "a"b', ROW_AFTER_QUOTE),
        ('c "a"\rb', ROW_AFTER_QUOTE),
    ],
)
def test_quotes_among_blanks_can_be_wrong(line: str, status: int) -> None:
    good = Row(len(line) + 1, ROW_OK, 2, (b"x", b"y"))
    assert split(f"{line}\nx y\n".encode(), WHITESPACE) == [Row(0, status), good]


def test_doubled_quotes_matter_only_in_wanted_fields() -> None:
    buffer = np.frombuffer(b'"a""b",c\n"a","c""d"\n', np.uint8)
    place = np.array([-1, 0])
    *_, status, _, rows = tokens.split_rows(buffer, COMMA, 2, place, 2, 1)
    assert status[:rows].tolist() == [ROW_OK, ROW_ESCAPED]


@pytest.mark.parametrize("delimiter", [COMMA, TAB, WHITESPACE])
def test_a_carriage_return_inside_a_line_is_text(delimiter: int) -> None:
    mark = chr(delimiter or 32)
    text = f"a\rb{mark}\rc\r\r\n".encode()
    assert split(text, delimiter) == [Row(0, ROW_OK, 2, (b"a\rb", b"\rc\r"))]
    text = f'"a\r"{mark}"c\r"\r\n'.encode()
    assert split(text, delimiter) == [Row(0, ROW_OK, 2, (b"a\r", b"c\r"))]


@pytest.mark.parametrize("delimiter", [COMMA, TAB, WHITESPACE])
def test_lines_of_blanks_are_no_rows(delimiter: int) -> None:
    blank = "\t" if delimiter == COMMA else " "
    text = f"\n\r\n{blank * 3}\n{blank}\r\na{chr(delimiter or 32)}b\n{blank}".encode()
    assert [row.fields for row in split(text, delimiter)] == [(b"a", b"b")]


def test_a_comment_may_be_indented_and_is_one_only_where_blanks_separate() -> None:
    assert split(b"#a b\n \t# c d e\nx #y\n", WHITESPACE) == [
        Row(15, ROW_OK, 2, (b"x", b"#y"))
    ]
    assert split(b"#a,b\n", COMMA) == [Row(0, ROW_OK, 2, (b"#a", b"b"))]


ANY_BYTES = st.lists(
    st.sampled_from([bytes([b]) for b in b'\n\r\t ,"#a\x00\xff']), max_size=20
).map(b"".join) | st.binary(max_size=40)


@settings(max_examples=examples(300))
@given(ANY_BYTES, st.sampled_from([COMMA, TAB, WHITESPACE]), st.integers(1, 3))
def test_any_bytes_are_split_alike_in_plain_python(
    text: bytes, delimiter: int, width: int
) -> None:
    columns = (0,) if width == 1 else (width - 1, 0)
    compiled = split(text, delimiter, width, columns)
    with interpreted(tokens):
        assert split(text, delimiter, width, columns) == compiled


@given(ANY_BYTES, st.sampled_from([COMMA, TAB, WHITESPACE]))
def test_every_line_is_a_row_or_blank_or_a_comment(text: bytes, delimiter: int) -> None:
    rows = {row.start for row in split(text, delimiter)}
    blanks = b" \t".replace(bytes([delimiter]), b"")
    for at, line in lines_of(text):
        bare = line.strip(blanks)
        comment = delimiter == WHITESPACE and bare.startswith(b"#")
        assert (at in rows) == (bare != b"" and not comment)


@given(st.binary(max_size=30))
def test_lines_are_counted_whether_or_not_the_last_one_ends(text: bytes) -> None:
    expected = len((text + b"$").split(b"\n")) - text.endswith(b"\n") - (text == b"")
    assert tokens.count_lines(np.frombuffer(text, np.uint8)) == expected


@pytest.mark.parametrize(
    ("start", "filler", "delimiter"),
    [
        (b"a,", b"x", COMMA),
        (b"", b"x", COMMA),
        (b'"', b"x", COMMA),
        (b"", b",", COMMA),
        (b"", b" ", COMMA),
        (b"a ", b"x", WHITESPACE),
        (b"# ", b"x", WHITESPACE),
        (b"", b" ", WHITESPACE),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_over_the_limit_is_too_long_whatever_it_holds(
    start: bytes, filler: bytes, delimiter: int, end: bytes
) -> None:
    longest = start + filler * (MAX_LINE_BYTES - len(start) - len(end) + 1)
    good = b"a" + bytes([delimiter or ord(" ")]) + b"b"
    text = longest + end + longest + filler + end + good + end + longest + filler + b"x"
    second = len(longest + end)
    third = 2 * second + 1
    found = {row.start: row.status for row in split(text, delimiter)}
    assert found.get(0) != ROW_TOO_LONG
    assert found[second] == ROW_TOO_LONG
    assert found[third] == ROW_OK
    assert found[third + len(good + end)] == ROW_TOO_LONG
