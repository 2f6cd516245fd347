"""Topics by name, or several at once: `gps/*` is all that begin with `gps/`."""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

ANY = "*"


def found_for(topic: str, given: Mapping[str, T]) -> T | None:
    """What is given for a topic: under its name, else under the longest pattern that
    it matches; None if there is nothing."""
    own = given.get(topic)
    if own is not None:
        return own
    fitting = [name for name in given if is_pattern(name) and matches(name, topic)]
    return given[max(fitting, key=len)] if fitting else None


def is_pattern(name: str) -> bool:
    return name.endswith(ANY)


def matches(pattern: str, topic: str) -> bool:
    return topic.startswith(pattern.removesuffix(ANY))
