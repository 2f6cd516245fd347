"""Numbers of topics and lists of numbers, as people write them."""

import re

from brokerwise.model.errors import InputError

_MOST = 1000
_RANGE = re.compile(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?")


def parse_topics(text: str, option: str) -> tuple[int, ...]:
    """`1-6`, `4` or `1,3-5`: whole numbers from 1, ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (0, 0) if match is None else _ends(match)
        if not 1 <= first <= last <= _MOST:
            raise InputError(
                f"{option}: found {text!r}, expected numbers of topics such as 1-6, 4 "
                "or 1,3"
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """`2.5,5`: numbers, each once, in the order given."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or len(set(found)) < len(found):
        raise InputError(
            f"{option}: found {text!r}, expected numbers with commas between them, "
            "each once"
        )
    return found


def _ends(match: re.Match[str]) -> tuple[int, int]:
    first = int(match[1])
    return first, first if match[2] is None else int(match[2])
