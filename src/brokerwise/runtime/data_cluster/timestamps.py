"""Timestamps in records and parameters. Pure.

Texts as in ISO 8601: a date, or a date and a time of day after T or a space, with Z, an
offset, or nothing, which is UTC; or milliseconds since 1970. They are kept as whole
microseconds since 1970, in UTC; what is finer is cut off.
"""

import re
from datetime import UTC, datetime, timedelta

_FORM = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def microseconds(value: str | float) -> int:
    """Since 1970. Raises ValueError if it is no timestamp, or not of the years 1 to
    9999."""
    micros = _of_text(value) if isinstance(value, str) else round(value * 1000)
    if not _FIRST <= micros <= _LAST:
        raise ValueError(value)
    return micros


def _of_text(text: str) -> int:
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND
