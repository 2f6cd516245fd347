"""Names: what one may be, patterns of topics, and how channels and datasets are named.

Names of topics, users, sources, brokers and attributes go into logs, metrics, JSON and
SQLite, so they hold nothing that would end a line or a string there: no control
character and no line or paragraph separator.

Operators give topics steps and datasets by name or by pattern: `gps/*` is all topics
that begin with `gps/`. Clients subscribe and publish by name only, and a name may hold
any of these characters.

A backend subscription, a channel with values for its parameters, is a topic whose
source is the data cluster: `channel/NAME?key=value&key=value`, keys in order, values
percent-encoded. What clients publish to `dataset/NAME` is fed to that dataset.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES

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


SOURCE = "data-cluster"  # of every result
CHANNEL = "channel/"
DATASET = "dataset/"
Value = str | int | float | bool


def channel_topic(channel: str, parameters: Mapping[str, Value]) -> str:
    """The topic of a channel's results for these parameters. Raises InputError if its
    name would be too long."""
    texts = {key: value_text(parameters[key]) for key in sorted(parameters)}
    query = urlencode(texts, quote_via=quote, safe="")
    topic = f"{CHANNEL}{channel}" + (f"?{query}" if query else "")
    if len(topic) > MAX_NAME_BYTES:
        raise InputError(
            f"channel {channel!r}: the parameters are {len(topic):,} bytes long as a "
            f"name, expected at most {MAX_NAME_BYTES}"
        )
    return topic


def parse_channel_topic(topic: str) -> tuple[str, dict[str, str]]:
    """Channel and parameters of a topic. Raises InputError unless `channel_topic`
    writes it the same way: one subscription has one name."""
    name, _, query = topic.removeprefix(CHANNEL).partition("?")
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except ValueError:
        pairs = []
    parameters = dict(pairs)
    if not is_channel(topic) or channel_topic(name, parameters) != topic:
        raise InputError(
            f"found {topic!r}, expected {CHANNEL}NAME?key=value&key=value with keys in "
            "order and values percent-encoded"
        )
    return name, parameters


def is_channel(topic: str) -> bool:
    return topic.startswith(CHANNEL)


def is_dataset(topic: str) -> bool:
    return topic.startswith(DATASET)


def value_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
