"""The names of channel subscriptions: one name for one subscription."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.runtime.channel_names import (
    channel_topic,
    is_channel,
    parse_channel_topic,
    value_text,
)
from brokerwise.runtime.naming import refusal

keys = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True)


@given(keys, st.dictionaries(keys, st.text(max_size=6), max_size=3))
def test_a_name_says_which_channel_and_parameters_it_stands_for(
    channel: str, parameters: dict[str, str]
) -> None:
    try:
        topic = channel_topic(channel, parameters)
    except (InputError, UnicodeEncodeError):
        return
    assert is_channel(topic) and not refusal(topic)
    assert parse_channel_topic(topic) == (channel, parameters)


@given(st.text("channel/near?=&%+a1 ", max_size=30))
def test_another_spelling_is_no_name(text: str) -> None:
    topic = "channel/" + text
    try:
        channel, parameters = parse_channel_topic(topic)
    except InputError:
        return
    assert channel_topic(channel, parameters) == topic


@pytest.mark.parametrize(
    "topic",
    [
        "news",
        "channel/near?b=1&a=2",
        "channel/near?a=1&a=1",
        "channel/near?a=x y",
        "channel/near?a=x+y",
        "channel/near?a=%4",
        "channel/near?a=%ff",
        "channel/near?a",
        "channel/near?",
        "channel/near?a=1#b",
    ],
)
def test_a_topic_that_is_not_written_as_we_do_is_refused(topic: str) -> None:
    with pytest.raises(InputError, match="expected channel/NAME"):
        parse_channel_topic(topic)


def test_values_are_written_as_anyone_would() -> None:
    assert [value_text(v) for v in ("a b", 5, 5.0, True, 1e300)] == [
        *("a b", "5", "5.0", "true", "1e+300"),
    ]
