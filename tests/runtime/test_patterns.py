"""Topics by name, or by a pattern, and what is taken for one."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.runtime.patterns import PatternError, found_for, refuse_patterns


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
