"""Lines of JSON become a table, or are told with a reason: against json and plain
checks of each value."""

import json
import math
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.records import (
    KEPT_ASIDE,
    MAX_REJECTED,
    TEXT_BYTES,
    arrow_schema,
    parse_records,
)
from brokerwise.runtime.protocol.data import Column, ColumnType, Dataset, DatasetKind
from brokerwise.runtime.protocol.limits import MAX_RECORD_BYTES

# Names that are words of Python and of SQL are names like any other.
EVENTS = Dataset(
    "events",
    DatasetKind.KEYED,
    (
        Column("class", ColumnType.STRING),
        Column("n", ColumnType.LONG),
        Column("select", ColumnType.DOUBLE),
        Column("ok", ColumnType.BOOLEAN),
        Column("at", ColumnType.TIMESTAMP),
    ),
    "class",
)
ONE = Dataset("one", DatasetKind.APPEND, (Column("n", ColumnType.LONG),))
TEXTS: dict[str, int | None] = {
    "1970-01-01T00:00:01Z": 1_000_000,
    "1970-01-01 02:00:00.000001+02:00": 1,
    "1970-01-02": 86_400_000_000,
    "1969-12-31T23:59:59,5": -500_000,
    "1970-01-01T01:00": 3_600_000_000,
    "1970-01-01T24:30:00Z": None,
    "1970-02-30": None,
    "1970-1-1": None,
    "19700101": None,
    "1970-01-01x00:00:00": None,
    "yesterday": None,
    "": None,
    "\u0661970-01-01": None,  # a digit, but not of ASCII
    "0001-01-01T00:00:00+10:00": None,
}
EPOCH = datetime(1970, 1, 1)


def fits(column: Column, value: Any) -> bool:
    """Whether a value as json reads it may be in the column."""
    if value is None:
        return column.name != EVENTS.key
    kind = type(value)
    if column.type is ColumnType.STRING:
        return kind is str and _is_unicode(value)
    if column.type is ColumnType.LONG:
        return kind is int and -(2**63) <= value < 2**63
    if column.type is ColumnType.BOOLEAN:
        return kind is bool
    if column.type is ColumnType.DOUBLE:
        return kind in (int, float) and _is_finite(value)
    return _moment(value) is not None


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _moment(value: Any) -> int | None:
    if type(value) is str:
        return TEXTS.get(value)
    if type(value) not in (int, float):
        return None
    try:
        microseconds = round(Fraction(value * 1000))
        moment = EPOCH + timedelta(microseconds=microseconds)
    except (OverflowError, ValueError):
        return None
    return (moment - EPOCH) // timedelta(microseconds=1)


def expected_record(line: bytes) -> dict[str, Any] | None:
    """What the line stands for, None if it must be rejected."""
    try:
        record = json.loads(line.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    if set(record) != {column.name for column in EVENTS.columns}:
        return None
    if not all(fits(column, record[column.name]) for column in EVENTS.columns):
        return None
    if record["select"] is not None:
        record["select"] = float(record["select"])
    if record["at"] is not None:
        record["at"] = _moment(record["at"])
    return record


def _refuse(name: str) -> None:
    raise ValueError(name)


numbers = st.one_of(
    st.integers(),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**400]),
    st.floats(),
)
moments = st.one_of(
    st.sampled_from(sorted(TEXTS)),
    st.integers(-(10**14), 3 * 10**14),
    st.floats(-1e14, 3e14),
)
anything = st.one_of(
    st.none(), st.booleans(), numbers, st.text(), moments, st.just([1]), st.just({})
)
good: dict[str, st.SearchStrategy[Any]] = {
    "class": st.text(),
    "n": st.none() | st.integers(-(2**63), 2**63 - 1),
    "select": st.none() | st.integers() | st.floats(allow_nan=False),
    "ok": st.none() | st.booleans(),
    "at": st.sampled_from([None, 5, *(text for text in TEXTS if TEXTS[text])]),
}


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """Records, most of them nearly good."""
    record = draw(st.fixed_dictionaries(good))
    name = draw(st.sampled_from(sorted(record)))
    match draw(st.sampled_from(["good", "good", "good", "value", "name"])):
        case "value":
            record[name] = draw(anything)
        case "name":
            record[draw(st.text(max_size=3))] = record.pop(name)
    return record


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=20)).replace(b"\n", b"")
    text = json.dumps(draw(objects()), ensure_ascii=draw(st.booleans()))
    line = text.encode(errors="surrogatepass")
    if draw(st.integers(0, 9)) == 0:  # a letter is lost, or another one is in its place
        # Not of the timestamp: `TEXTS` would not have it.
        place = draw(st.integers(0, (line + b'"at"').index(b'"at"') - 1))
        line = line[:place] + draw(st.binary(max_size=2)) + line[place + 1 :]
    return draw(st.sampled_from([b"", b" ", b"\t"])) + line.replace(b"\n", b" ")


ends = st.sampled_from([b"\n", b"\r\n"])


@given(st.lists(json_lines(), max_size=12), ends)
def test_the_good_lines_are_those_that_json_and_plain_checks_find_good(
    found: list[bytes], end: bytes
) -> None:
    parsed = parse_records(EVENTS, end.join(found))
    expected = [expected_record(line) for line in found]
    assert parsed.table.schema == arrow_schema(EVENTS)
    assert _plain(parsed.table) == [each for each in expected if each is not None]
    bad = [
        number
        for number, (line, record) in enumerate(zip(found, expected, strict=True), 1)
        if record is None and line.strip()
    ]
    assert [reject.line for reject in parsed.rejects] == bad
    assert parsed.rejected == len(bad)
    assert all(reject.reason for reject in parsed.rejects)


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    at = table.column_names.index("at")
    records: list[dict[str, Any]] = table.set_column(
        at, "at", table["at"].cast(pa.int64())
    ).to_pylist()
    return records


def reason(text: str | bytes, dataset: Dataset = EVENTS) -> str:
    """Why a line is rejected."""
    parsed = parse_records(dataset, text if isinstance(text, bytes) else text.encode())
    assert (parsed.table.num_rows, parsed.rejected) == (0, 1)
    return parsed.rejects[0].reason


def event(**changes: object) -> str:
    record = {"class": "a", "n": 1, "select": 1.5, "ok": True, "at": 0, **changes}
    return json.dumps(record)


def test_a_reason_says_what_was_found_and_what_expected() -> None:
    assert reason(event(n=1.5)) == (
        "column 'n': found 1.5, expected a whole number of at most 64 bits"
    )
    assert reason(event(n=1.0)).startswith("column 'n': found 1.0, expected a whole")
    assert reason(event(select="x")) == (
        "column 'select': found \"x\", expected a number"
    )
    assert reason(event(ok=1)) == "column 'ok': found 1, expected true or false"
    assert reason(event(at="noon")).startswith(
        "column 'at': found \"noon\", expected a timestamp as "
    )
    assert reason(event(**{"class": None})) == (
        "column 'class': found null, expected a string"
    )
    assert reason(event().replace("1.5", "1e400")) == (
        "column 'select': found 1e400, expected a number"
    )
    assert reason(event(tpye=1)) == (
        "unknown field 'tpye', expected class, n, select, ok, at"
    )
    assert reason('{"class": "a"}') == "column 'n' is missing"
    assert reason("[1]") == "found [1], expected an object"
    assert reason('{"class": ') == "not JSON: Input data was truncated"
    assert reason(event() + event()).startswith("not JSON: trailing characters")
    assert reason(event().replace("1.5", "NaN")).startswith("not JSON: invalid")
    assert reason(event().encode().replace(b'"a"', b'"\xff"')) == (
        "byte 12 is not UTF-8"
    )


def test_a_reason_is_short_whatever_was_found() -> None:
    assert len(reason(event(n="x" * 100_000))) < 200
    assert len(reason(event(**{"x" * 100_000: 1}))) < 250
    wide = tuple(Column(f"column{n}", ColumnType.LONG) for n in range(200))
    found = reason('{"y": 1}', Dataset("wide", DatasetKind.APPEND, wide))
    assert found.endswith("column11 and 188 more")


def test_a_field_that_is_there_twice_has_its_last_value() -> None:
    assert parse_records(ONE, b'{"n": 1, "n": 2}').table.to_pylist() == [{"n": 2}]
    assert "twice" in reason('{"n": "x", "n": 2}', ONE)


def test_a_line_may_be_as_long_as_a_record_may_be_and_no_longer() -> None:
    fits = b'{"n": 1' + b" " * (MAX_RECORD_BYTES - 8) + b"}"
    assert len(fits) == MAX_RECORD_BYTES
    body = b"\r\n".join([fits, fits + b" ", fits]) + b"\r\n"
    parsed = parse_records(ONE, body)
    assert parsed.table.to_pylist() == [{"n": 1}] * 2
    (reject,) = parsed.rejects
    assert reject.line == 2
    assert reject.reason == (
        "found 1,048,577 bytes, expected at most 1,048,576 in one record"
    )
    assert reject.text == body[:TEXT_BYTES].decode()


@pytest.mark.parametrize(
    "line",
    [
        b'{"n": ' + b"[" * 500_000,
        b"[" * 1_000_000,
        b'{"n": ' + b"9" * 1_000_000 + b"}",
        b'{"n": -0.' + b"9" * 1_000_000 + b"}",
        b'{"n": "' + b"\\ud800" * 100_000 + b'"}',
        b"\x00" * 1_000_000,
    ],
)
def test_a_hostile_line_is_rejected_and_the_next_one_is_fine(line: bytes) -> None:
    parsed = parse_records(ONE, line + b'\n{"n": 1}\n')
    assert parsed.table.to_pylist() == [{"n": 1}]
    assert [reject.line for reject in parsed.rejects] == [1]


def test_many_rejected_ones_are_counted_and_the_first_kept() -> None:
    parsed = parse_records(ONE, b"x\n" * (KEPT_ASIDE + 5) + b'{"n": 1}')
    assert parsed.rejected == KEPT_ASIDE + 5
    assert [each.line for each in parsed.rejects] == list(range(1, KEPT_ASIDE + 1))
    assert parsed.table.num_rows == 1


def test_a_feed_of_something_else_altogether_is_refused() -> None:
    with pytest.raises(InputError, match="more than 100,000 records") as refused:
        parse_records(ONE, b"x\n" * (MAX_REJECTED + 1))
    assert refused.value.details[0].startswith("line 1: not JSON")


def test_nothing_is_an_empty_table() -> None:
    parsed = parse_records(EVENTS, b"\n\r\n  \n")
    assert (parsed.table.num_rows, parsed.rejected) == (0, 0)
    assert parsed.table.schema == arrow_schema(EVENTS)
