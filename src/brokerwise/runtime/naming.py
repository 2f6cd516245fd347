"""What may be a name: of a topic, a user, a source, a broker or an attribute.

Names go into logs, metrics, JSON and SQLite, so they hold nothing that would end a
line or a string there: no control character and no line or paragraph separator.
"""

import re
from collections.abc import Iterable

from brokerwise.runtime.limits import MAX_NAME_BYTES

_UNWANTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def next_broker(known: Iterable[str]) -> str:
    """One above the highest of b0, b1, ... that a fleet has or had."""
    numbers = [int(name[1:]) for name in known if name[:1] == "b" and _digits(name[1:])]
    return f"b{max(numbers, default=-1) + 1}"


def refusal(name: str) -> str:
    """Why a text cannot be a name; empty if it can.

    A publisher's messages come through here one by one: 0.1 us for a plain name.
    """
    if name.isascii() and name.isprintable() and 0 < len(name) <= MAX_NAME_BYTES:
        return ""
    if not name:
        return "found an empty name"
    unwanted = _UNWANTED.search(name)
    if unwanted:
        return f"found a name with {unwanted[0]!a} in it, which no name may have"
    length = len(name.encode())
    if length <= MAX_NAME_BYTES:
        return ""
    return f"found a name of {length:,} bytes, expected at most {MAX_NAME_BYTES:,}"


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
