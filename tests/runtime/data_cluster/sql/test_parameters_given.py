"""The values of a subscription, as texts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.definitions import Channel, Column, ColumnType
from brokerwise.runtime.data_cluster.sql.parameters_given import parameter_values
from brokerwise.runtime.data_cluster.timestamps import microseconds
from brokerwise.runtime.protocol.names import Value, value_text


def one(kind: str) -> Channel:
    return Channel("c", "", (Column("p", ColumnType(kind)),), 10.0)


LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(st.text(), LONGS, DOUBLES, st.booleans())
def test_what_is_written_as_a_text_is_read_again(
    s: str, n: int, x: float, b: bool
) -> None:
    kinds = {"s": "string", "n": "long", "x": "double", "b": "boolean"}
    columns = tuple(Column(name, ColumnType(kind)) for name, kind in kinds.items())
    channel = Channel("c", "", columns, 10.0)
    given_: dict[str, Value] = {"b": b, "x": x, "n": n, "s": s}
    texts = {name: value_text(value) for name, value in given_.items()}
    found = parameter_values(channel, texts)
    assert found == (s, n, x, b)
    assert [type(value) for value in found] == [str, int, float, bool]


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_one_text_however_it_is_written(at: datetime) -> None:
    since = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    (found,) = parameter_values(one("timestamp"), {"p": at.isoformat()})
    assert isinstance(found, str)
    assert microseconds(found) == since
    if since % 1000 == 0:
        again = parameter_values(one("timestamp"), {"p": str(since // 1000)})
        assert again == (found,)


def test_milliseconds_and_texts_of_other_zones_are_timestamps() -> None:
    for text in ("1700000000000", "2023-11-14T22:13:20Z", "2023-11-14 23:13:20+01:00"):
        found = parameter_values(one("timestamp"), {"p": text})
        assert found == ("2023-11-14T22:13:20Z",)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("long", "1.5", "a whole number"),
        ("long", "", "a whole number"),
        ("long", "1_000", "a whole number"),
        ("long", " 1", "a whole number"),
        ("long", "٣", "a whole number"),
        ("long", "9223372036854775808", "a whole number"),
        ("long", "true", "a whole number"),
        ("double", "nan", "a number"),
        ("double", "inf", "a number"),
        ("double", "1e999", "a number"),
        ("double", "1e9999", "a number"),
        ("double", "0x10", "a number"),
        ("double", "x" * 500, "a number"),
        ("boolean", "True", "true or false"),
        ("boolean", "1", "true or false"),
        ("timestamp", "yesterday", "a timestamp"),
        ("timestamp", "2024-02-30", "a timestamp"),
        ("timestamp", "99999999999999999", "a timestamp"),
        ("timestamp", "", "a timestamp"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(
    kind: str, text: str, expected: str
) -> None:
    with pytest.raises(InputError) as error:
        parameter_values(one(kind), {"p": text})
    assert f"parameter 'p': found {text[:80]!r}" in str(error.value)
    assert expected in str(error.value)


def test_one_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="the parameter 'p' is missing"):
        parameter_values(one("string"), {})


def test_one_that_is_unknown_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="found the parameter 'q', expected p"):
        parameter_values(one("string"), {"p": "a", "q": "b"})
    with pytest.raises(InputError, match="expected none"):
        parameter_values(Channel("c", "", (), 10.0), {"q": "b"})
