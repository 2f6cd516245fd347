"""The values that a subscription gives to a channel's parameters. Pure."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster.definitions import Channel, Column, ColumnType
from brokerwise.runtime.data_cluster.timestamps import microseconds

Given = str | int | float | bool

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_MILLISECONDS = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,3})?")
_EXPECTED = {
    ColumnType.STRING: "a text",
    ColumnType.LONG: "a whole number of 64 bits",
    ColumnType.DOUBLE: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.TIMESTAMP: "a timestamp as in ISO 8601, or milliseconds since 1970",
}


def parameter_values(channel: Channel, texts: Mapping[str, str]) -> tuple[Given, ...]:
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
    return tuple(_value(what, p, texts[p.name]) for p in channel.parameters)


def _value(what: str, parameter: Column, text: str) -> Given:
    try:
        return _parse(parameter.type, text)
    except (KeyError, ValueError, OverflowError):
        raise InputError(
            f"{what}: parameter {parameter.name!r}: found {text[:80]!r}, expected "
            f"{_EXPECTED[parameter.type]}"
        ) from None


def _parse(type_: ColumnType, text: str) -> Given:
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
