"""What may be a name, by bytes and not by letters."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES
from brokerwise.runtime.protocol.names import (
    PatternError,
    channel_topic,
    found_for,
    is_channel,
    parse_channel_topic,
    refusal,
    refuse_patterns,
    value_text,
)


def is_name(text: str) -> bool:
    """The same rule, said with Unicode's categories."""
    unwanted = {"Cc", "Cs", "Zl", "Zp"}
    if any(unicodedata.category(letter) in unwanted for letter in text):
        return False
    return 0 < len(text.encode()) <= MAX_NAME_BYTES


@given(st.text(st.characters(), max_size=300))
def test_a_name_is_refused_exactly_if_the_rule_says_so(text: str) -> None:
    assert (refusal(text) == "") == is_name(text)


def test_every_single_character_is_judged_by_its_category() -> None:
    wrong = [
        chr(n) for n in range(0x110000) if (not refusal(chr(n))) != is_name(chr(n))
    ]
    assert wrong == []


@pytest.mark.parametrize("letter", ["a", "é", "€", "😀"])
def test_the_limit_counts_bytes(letter: str) -> None:
    most = MAX_NAME_BYTES // len(letter.encode())
    assert refusal(letter * most) == ""
    assert "bytes" in refusal(letter * (most + 1))


def test_a_refusal_is_plain_ascii_whatever_the_name_holds() -> None:
    for text in ("a\nb", "a\x00b", "a\u2028b", "a\ud800b", "", "é" * 200):
        assert refusal(text).isascii()
        assert refusal(text).isprintable()
        assert refusal(text)


def is_refused(name: str) -> bool:
    try:
        refuse_patterns([name])
    except PatternError as error:
        assert error.name == name
        return True
    return False


@pytest.mark.parametrize(
    "name",
    ["*", "gps/*", "gps*", "*.csv", "a/**/b", "#", "gps/#", "+", "a/+/b", ">", "gps.>"],
)
def test_what_other_brokers_take_for_many_is_refused(name: str) -> None:
    assert is_refused(name)


@pytest.mark.parametrize(
    "name",
    ["news", "C#", "#general", "c++", "a+b", "a>b", "why?", "[x]", "v1.2/x", "a/b.c"],
)
def test_a_name_may_hold_these_characters(name: str) -> None:
    assert not is_refused(name)


@given(st.text("ab*#+>/.", max_size=8))
@settings(max_examples=examples(25))
def test_a_name_is_refused_by_its_levels(name: str) -> None:
    levels = re.split("[/.]", name)
    assert is_refused(name) == ("*" in name or not {"#", "+", ">"}.isdisjoint(levels))


def test_a_name_goes_before_a_pattern_and_a_longer_pattern_before_a_shorter() -> None:
    given = {"gps/*": 1, "gps/taxi/*": 2, "gps/taxi/7": 3}
    found = [
        found_for(topic, given)
        for topic in ("gps/taxi/7", "gps/taxi/8", "gps/bus", "news")
    ]
    assert found == [3, 2, 1, None]


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
