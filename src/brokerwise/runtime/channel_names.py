"""How channel subscriptions and datasets are named as topics.

A backend subscription, a channel with values for its parameters, is a topic whose
source is the data cluster: `channel/NAME?key=value&key=value`, keys in order, values
percent-encoded. What clients publish to `dataset/NAME` is fed to that dataset.
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from brokerwise.model.errors import InputError
from brokerwise.runtime.limits import MAX_NAME_BYTES

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
