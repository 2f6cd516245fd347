"""Topics by name, or several at once: `gps/*` is all that begin with `gps/`.

Patterns are for operators, who give topics steps and datasets. Clients subscribe and
publish by name only, and a name may hold any of these characters.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from brokerwise.model.errors import InputError

T = TypeVar("T")

ANY = "*"
_MEANT_AS_PATTERN = re.compile(r"\*|(?:^|[/.])[#+>](?:$|[/.])")


class PatternError(InputError):
    """A client named a topic that looks like a pattern, and would hear nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name!r} looks like a pattern; topics are taken by name, one by one",
            hint="If a topic is really called that: Client(..., literal=True)",
        )


def refuse_patterns(names: Iterable[str]) -> None:
    """Raises PatternError for a name with a `*`, or with `#`, `+` or `>` as a whole
    level between `/` or `.`: what MQTT, NATS, AMQP and shells take for many."""
    for name in names:
        if _MEANT_AS_PATTERN.search(name):
            raise PatternError(name)


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
