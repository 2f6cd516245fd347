"""The values of datasets' columns and channels' parameters. Pure.

Decided here: what a timestamp is (`microseconds`), and what values a subscription may
give to a channel's parameters (`parameter_values`). What datasets and channels are is
in `protocol/data.py`.

A timestamp is a text as in ISO 8601: a date, or a date and a time of day after T or a
space, with Z, an offset, or nothing, which is UTC; or milliseconds since 1970. It is
kept as whole microseconds since 1970, in UTC; what is finer is cut off.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.data import Channel, Column, ColumnType

_FORM = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
ParameterValue = str | int | float | bool
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_MILLISECONDS = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,3})?")


def microseconds(value: str | float) -> int:
    """Since 1970. Raises ValueError if it is no timestamp, or not of the years 1 to
    9999."""
    micros = _from_text(value) if isinstance(value, str) else round(value * 1000)
    if not _FIRST <= micros <= _LAST:
        raise ValueError(value)
    return micros


def _from_text(text: str) -> int:
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


EXPECTED_VALUE = {
    ColumnType.STRING: "a string",
    ColumnType.LONG: "a whole number of at most 64 bits",
    ColumnType.DOUBLE: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.TIMESTAMP: (
        'a timestamp as "2024-05-01T12:30:00Z", or milliseconds since 1970'
    ),
}


def parameter_values(
    channel: Channel, texts: Mapping[str, str]
) -> tuple[ParameterValue, ...]:
    """One for each parameter, in the channel's order; timestamps are texts, in UTC.
    Raises InputError for one that is missing, unknown or of the wrong type."""
    known = [parameter.name for parameter in channel.parameters]
    what = f"channel {channel.name!r}"
    for name in texts:
        if name not in known:
            raise InputError(
                f"{what}: found the parameter {name[:80]!r}, expected "
                + (", ".join(known) or "none")
            )
    for name in known:
        if name not in texts:
            raise InputError(f"{what}: the parameter {name!r} is missing")
    return tuple(_parameter_value(what, p, texts[p.name]) for p in channel.parameters)


def _parameter_value(what: str, parameter: Column, text: str) -> ParameterValue:
    try:
        return _parse_value(parameter.type, text)
    except (KeyError, ValueError, OverflowError):
        raise InputError(
            f"{what}: parameter {parameter.name!r}: found {text[:80]!r}, expected "
            f"{EXPECTED_VALUE[parameter.type]}"
        ) from None


def _parse_value(type_: ColumnType, text: str) -> ParameterValue:
    match type_:
        case ColumnType.STRING:
            return text
        case ColumnType.LONG:
            return _long(text)
        case ColumnType.DOUBLE:
            return _double(text)
        case ColumnType.BOOLEAN:
            return {"true": True, "false": False}[text]
        case ColumnType.TIMESTAMP:
            return _timestamp(text)


def _long(text: str) -> int:
    if not _WHOLE.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(text)
    return int(text)


def _double(text: str) -> float:
    """NaN and infinity are no values: nothing is near them."""
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def _timestamp(text: str) -> str:
    """The same moment is always the same text."""
    value: str | float = text
    if _MILLISECONDS.fullmatch(text):
        value = float(text) if "." in text else int(text)
    since = timedelta(microseconds=microseconds(value))
    return (_EPOCH + since).isoformat().replace("+00:00", "Z")
