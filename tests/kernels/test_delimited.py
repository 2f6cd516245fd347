"""Rows of text, their fields and rows written, against plain Python."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import delimited
from brokerwise.kernels.delimited import (
    FIELD_EMPTY,
    FIELD_NEGATIVE,
    FIELD_NOT_A_NUMBER,
    FIELD_NOT_A_TIME,
    FIELD_NOT_UTF8,
    FIELD_OK,
    FIELD_OVERFLOW,
    FIELD_TOO_LONG,
    MAX_LINE_BYTES,
    ROW_AFTER_QUOTE,
    ROW_ESCAPED,
    ROW_OK,
    ROW_QUOTE,
    ROW_TOO_LONG,
    ROW_WIDTH,
    WHITESPACE,
    csv_chunks,
)
from brokerwise.model.arrays import Bytes, Int32s

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
    lines = delimited.count_lines(buffer)
    starts, ends, row_start, status, found, rows = delimited.split_rows(
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
    *_, status, _, rows = delimited.split_rows(buffer, COMMA, 2, place, 2, 1)
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
    with interpreted(delimited):
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
    assert delimited.count_lines(np.frombuffer(text, np.uint8)) == expected


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


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def spans(items: Iterable[bytes], around: bytes = b"9") -> tuple[Bytes, Int32s, Int32s]:
    """Some fields in a buffer, with more before and behind each that would fit."""
    text, starts, ends = b"", [], []
    for item in items:
        text += around
        starts.append(len(text))
        text += item
        ends.append(len(text))
        text += around
    buffer = np.frombuffer(text, np.uint8)
    return buffer, np.array(starts, np.int32), np.array(ends, np.int32)


def count(text: str) -> tuple[int, int]:
    values, status = delimited.parse_counts(*spans([text.encode()]))
    return int(values[0]), int(status[0])


def micros(text: str) -> tuple[int, int]:
    values, status = delimited.parse_times(*spans([text.encode()]))
    return int(values[0]), int(status[0])


def is_utf8(text: bytes) -> bool:
    buffer, starts, ends = spans([text], around=b"\x80\x80")
    return bool(delimited.valid_utf8(buffer, starts[0], ends[0]))


def decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_utf8_of_one_and_two_bytes_is_what_python_decodes() -> None:
    for first in range(256):
        assert is_utf8(bytes([first])) == decodes(bytes([first]))
        for second in range(256):
            text = bytes([first, second])
            assert is_utf8(text) == decodes(text), text


def test_longer_utf8_is_what_python_decodes_at_every_boundary() -> None:
    edges = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    for first in range(0xE0, 0x100):
        for second in edges:
            for third in edges:
                three = bytes([first, second, third])
                assert is_utf8(three) == decodes(three), three
                for fourth in (0x7F, 0x80, 0xBF, 0xC0):
                    four = bytes([*three, fourth])
                    assert is_utf8(four) == decodes(four), four


@given(st.binary() | st.text().map(str.encode))
def test_utf8_is_what_python_decodes(text: bytes) -> None:
    assert is_utf8(text) == decodes(text)


NON_ASCII = st.characters(min_codepoint=0x80, exclude_categories=["Cs"])


@given(st.text(NON_ASCII, min_size=1), st.data())
def test_utf8_cut_or_with_a_byte_changed_is_what_python_decodes(
    text: str, data: st.DataObject
) -> None:
    whole = text.encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    assert is_utf8(whole[:at]) == decodes(whole[:at])
    changed = whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :]
    assert is_utf8(changed) == decodes(changed)


@given(st.lists(st.binary(max_size=6)), st.integers(1, 4))
def test_a_name_is_there_valid_and_not_too_long(
    names: list[bytes], longest: int
) -> None:
    buffer, starts, ends = spans(names)
    found = delimited.check_names(buffer, starts, ends, longest, False)
    for name, status in zip(names, found, strict=True):
        if not name:
            assert status == FIELD_EMPTY
        elif not decodes(name):
            assert status == FIELD_NOT_UTF8
        else:
            assert status == (FIELD_TOO_LONG if len(name) > longest else FIELD_OK)
    if all(byte < 0x80 for name in names for byte in name):
        assert (
            delimited.check_names(buffer, starts, ends, longest, True) == found
        ).all()


def expected_count(text: str) -> tuple[int, int]:
    text = text.strip(" ")
    if not text:
        return 0, FIELD_EMPTY
    if not re.fullmatch(r"[+-]?[0-9]+(\.0*)?", text):
        return 0, FIELD_NOT_A_NUMBER
    value = int(Decimal(text))
    if value < 0:
        return 0, FIELD_NEGATIVE
    return (value, FIELD_OK) if value < 2**63 else (0, FIELD_OVERFLOW)


NUMBERS = (
    st.integers(-(2**70), 2**70).map(str)
    | st.integers(2**63 - 20, 2**63 + 20).map(str)
    | st.text(" +-.0123456789e", max_size=12)
    | st.text(max_size=5)
)


@settings(max_examples=examples(400))
@given(NUMBERS)
@example("9223372036854775807")
@example("9223372036854775808")
@example("09223372036854775807.000")
@example("92233720368547758070")
@example("99999999999999999999999999999999")
@example("-99999999999999999999999999999999")
def test_whole_numbers_are_those_python_reads(text: str) -> None:
    assert count(text) == expected_count(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  12 ", (12, FIELD_OK)),
        ("+7", (7, FIELD_OK)),
        ("12.0", (12, FIELD_OK)),
        ("12.", (12, FIELD_OK)),
        ("-0", (0, FIELD_OK)),
        ("-0.0", (0, FIELD_OK)),
        ("12.5", (0, FIELD_NOT_A_NUMBER)),
        (".0", (0, FIELD_NOT_A_NUMBER)),
        ("1e3", (0, FIELD_NOT_A_NUMBER)),
        ("1 2", (0, FIELD_NOT_A_NUMBER)),
        ("0x10", (0, FIELD_NOT_A_NUMBER)),
        ("١٢", (0, FIELD_NOT_A_NUMBER)),
        ("-", (0, FIELD_NOT_A_NUMBER)),
        ("-1", (0, FIELD_NEGATIVE)),
        ("-1.5", (0, FIELD_NOT_A_NUMBER)),
        ("   ", (0, FIELD_EMPTY)),
        ("", (0, FIELD_EMPTY)),
        ("9223372036854775808", (0, FIELD_OVERFLOW)),
    ],
)
def test_what_a_whole_number_is(text: str, expected: tuple[int, int]) -> None:
    assert count(text) == expected


@given(
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    st.sampled_from(["T", " ", "t"]),
    st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]),
    st.sampled_from(["", "Z", "+00:00", "-11:30", "+0530", "+14", "-23:59"]),
)
def test_iso_times_are_those_of_datetime(
    when: datetime, between: str, precision: str, offset: str
) -> None:
    text = when.isoformat(between, precision) + offset
    local = datetime.fromisoformat(text)
    aware = local if local.tzinfo else local.replace(tzinfo=UTC)
    assert micros(text) == ((aware - EPOCH) // MICROSECOND, FIELD_OK)


@given(st.dates())
def test_a_date_is_its_first_moment_in_utc(day: datetime) -> None:
    first = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert micros(day.isoformat()[:10]) == ((first - EPOCH) // MICROSECOND, FIELD_OK)


def test_every_day_that_exists_is_a_date_and_no_other() -> None:
    for year in (1900, 1970, 2000, 2012, 2013, 2100):
        for month in range(14):
            for day in range(33):
                try:
                    when = datetime(year, month, day, tzinfo=UTC)
                    expected = ((when - EPOCH) // MICROSECOND, FIELD_OK)
                except ValueError:
                    expected = (0, FIELD_NOT_A_TIME)
                assert micros(f"{year}-{month:02}-{day:02}") == expected


@st.composite
def almost_times(draw: Any) -> str:
    """A good time with a piece of it replaced by something."""
    when = draw(st.datetimes(datetime(1970, 1, 1), datetime(2070, 1, 1)))
    text = when.isoformat() + draw(st.sampled_from(["", "Z", "+01:00", "-0130"]))
    at = draw(st.integers(0, len(text)))
    other = draw(st.text("0123456789-:TZ.,+ ", max_size=2))
    return str(text[:at] + other + text[at + draw(st.integers(0, 2)) :])


@settings(max_examples=examples(400))
@given(almost_times() | st.text("0123456789-.", max_size=16))
@example("2013-01-09T12:00:00.Z")
@example("2013-01-09T12:00:00.5+01:0")
@example("2013-01-09T")
@example("2013-01-09T1")
def test_a_time_that_datetime_refuses_is_refused(text: str) -> None:
    whole = text.strip(" ")
    value, status = micros(text)
    unix = re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]*)?", whole)
    if re.search("[Tt ]24:|:60|^0000", whole):
        return  # datetime knows no end of a day, no leap second, no year 0
    if status == FIELD_OK and not unix:
        parsed = datetime.fromisoformat(whole)
        aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        assert value == (aware - EPOCH) // MICROSECOND
    elif status != FIELD_OK:
        assert status == (FIELD_NOT_A_TIME if whole else FIELD_EMPTY)
        assert not unix


@given(st.integers(-(10**12) + 1, 10**12 - 1), st.text("0123456789", max_size=9))
def test_unix_seconds_are_cut_to_microseconds(seconds: int, fraction: str) -> None:
    text = f"{seconds}.{fraction}"
    assert micros(text) == (int(Decimal(text) * 10**6), FIELD_OK)
    assert micros(f" {seconds}  ") == (seconds * 10**6, FIELD_OK)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2012-12-31T24:00", "2013-01-01"),
        ("2012-12-31T24:00:00.0+01:00", "2012-12-31T23:00"),
        ("2012-06-30T23:59:60", "2012-07-01"),
        ("2012-07-01T01:59:60.25+02:00", "2012-07-01T00:00:00.25"),
        ("2013-01-09 12:00:00,5", "2013-01-09T12:00:00.500000Z"),
        ("2013-01-09T12:00:00.1234567", "2013-01-09T12:00:00.123456Z"),
        ("2013-01-09T12:00:00z", "1357732800"),
        ("-0.5", "1969-12-31T23:59:59.5"),
        ("-1.0000019", "-1.000001"),
    ],
)
def test_two_ways_to_say_a_time(text: str, same: str) -> None:
    assert micros(text) == micros(same)
    assert micros(text)[1] == FIELD_OK


@pytest.mark.parametrize(
    "text",
    [
        "2013-02-30",
        "2013-02-29T12:00",
        "2013-04-31",
        "2013-13-01",
        "2013-00-01",
        "2013-01-00",
        "2013-1-09",
        "2013-01-09T24:00:01",
        "2013-01-09T24:01",
        "2013-01-09T25:00",
        "2013-01-09T12:60",
        "2013-01-09T12:00:60",
        "2013-01-09T12:59:61",
        "2013-01-09T12",
        "2013-01-09T12-00",
        "2013-01-09X12:00",
        "2013-01-09T12:00:00+24:00",
        "2013-01-09T12:00:00+01:60",
        "2013-01-09T12:00:00+1",
        "2013-01-09T12:00:00+01:",
        "2013-01-09T12:00:00Z+01:00",
        "2013-01-09T12:00:00 UTC",
        "2013-01-09T12:00:00.",
        "1357732800000",
        "1e9",
        "- 5",
        ".5",
        "-",
        "yesterday",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert micros(text) == (0, FIELD_NOT_A_TIME)


ANY_TEXT = st.text("0123456789-:TZ.,+ e", max_size=28).map(str.encode) | st.binary()


@given(st.lists(ANY_TEXT, max_size=4))
def test_any_bytes_are_read_alike_in_plain_python(items: list[bytes]) -> None:
    compiled = everything(items)
    with interpreted(delimited):
        assert everything(items) == compiled


def everything(items: list[bytes]) -> list[list[int]]:
    """What all parsers make of some fields, the last of which ends the buffer."""
    buffer, starts, ends = spans(items)
    buffer = buffer[: ends[-1]] if items else buffer
    found: list[Any] = [delimited.check_names(buffer, starts, ends, 9, False)]
    found += delimited.parse_counts(buffer, starts, ends)
    found += delimited.parse_times(buffer, starts, ends)
    return [array.tolist() for array in found]


numbers = st.one_of(st.integers(0, 120), st.integers(0, 2**63 - 1))
prefixes = st.sampled_from(["", "t", "topic-"])


def rows(left_prefix: str, left: list[int], right_prefix: str, right: list[int]) -> str:
    chunks = csv_chunks(
        left_prefix, np.array(left, np.int64), right_prefix, np.array(right, np.int64)
    )
    return b"".join(chunk.tobytes() for chunk in chunks).decode()


@given(st.lists(st.tuples(numbers, numbers), max_size=40), prefixes, prefixes)
def test_rows_are_what_python_writes(
    pairs: list[tuple[int, int]], left_prefix: str, right_prefix: str
) -> None:
    expected = "".join(f"{left_prefix}{a},{right_prefix}{b}\n" for a, b in pairs)
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    assert rows(left_prefix, left, right_prefix, right) == expected


def test_rows_go_on_over_many_chunks() -> None:
    left = list(range(200_000))
    right = [n // 7 for n in left]
    expected = "".join(f"t{a},u{b}\n" for a, b in zip(left, right, strict=True))
    assert rows("t", left, "u", right) == expected
