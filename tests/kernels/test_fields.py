"""Names, whole numbers and times, against what Python makes of them."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import fields
from brokerwise.kernels.fields import (
    FIELD_EMPTY,
    FIELD_NEGATIVE,
    FIELD_NOT_A_NUMBER,
    FIELD_NOT_A_TIME,
    FIELD_NOT_UTF8,
    FIELD_OK,
    FIELD_OVERFLOW,
    FIELD_TOO_LONG,
)
from brokerwise.model.arrays import Bytes, Int32s

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
    values, status = fields.parse_counts(*spans([text.encode()]))
    return int(values[0]), int(status[0])


def micros(text: str) -> tuple[int, int]:
    values, status = fields.parse_times(*spans([text.encode()]))
    return int(values[0]), int(status[0])


def is_utf8(text: bytes) -> bool:
    buffer, starts, ends = spans([text], around=b"\x80\x80")
    return bool(fields.valid_utf8(buffer, starts[0], ends[0]))


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
    found = fields.check_names(buffer, starts, ends, longest, False)
    for name, status in zip(names, found, strict=True):
        if not name:
            assert status == FIELD_EMPTY
        elif not decodes(name):
            assert status == FIELD_NOT_UTF8
        else:
            assert status == (FIELD_TOO_LONG if len(name) > longest else FIELD_OK)
    if all(byte < 0x80 for name in names for byte in name):
        assert (fields.check_names(buffer, starts, ends, longest, True) == found).all()


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
    with interpreted(fields):
        assert everything(items) == compiled


def everything(items: list[bytes]) -> list[list[int]]:
    """What all parsers make of some fields, the last of which ends the buffer."""
    buffer, starts, ends = spans(items)
    buffer = buffer[: ends[-1]] if items else buffer
    found: list[Any] = [fields.check_names(buffer, starts, ends, 9, False)]
    found += fields.parse_counts(buffer, starts, ends)
    found += fields.parse_times(buffer, starts, ends)
    return [array.tolist() for array in found]
