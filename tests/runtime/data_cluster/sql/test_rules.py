"""Which patterns are simple enough."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.data_cluster.sql.rules import (
    is_simple_like,
    is_simple_pattern,
)

SIMPLE = ["", "fire", "^a.*b$", "[0-9]+", "(fire|flood)", r"\d{3}-\d+", "[^]]x?", r"\("]
RUNAWAY = [
    "(a+)+$",
    "(a|a)*",
    "(a*)b*c*d*",
    "a*a*a*a*b",
    "(ab){9}",
    "a++",
    "a**",
    r"(a)\1",
    r"\Qa",
    "(?=a)",
    "(?i)a",
    "*",
    "a|*",
    "[a",
    "[a[b]]",
    "a{2",
    "\\",
    "a" * 257,
]


@pytest.mark.parametrize("pattern", SIMPLE)
def test_simple_ones_are_taken(pattern: str) -> None:
    assert is_simple_pattern(pattern)


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_those_that_can_run_away_are_not(pattern: str) -> None:
    assert not is_simple_pattern(pattern)


@given(st.text("ab()[]*+?{}1,|^\\.", max_size=12))
def test_what_is_taken_repeats_three_single_characters_at_most(pattern: str) -> None:
    if is_simple_pattern(pattern):
        bare = re.sub(r"\\.|\[\^?.[^]]*\]", "x", pattern)
        assert len(re.findall(r"[*+?]|\{[^}]*\}", bare)) <= 3
        assert not re.search(r"\)[*+?{]", bare)


def test_like_takes_three_percents() -> None:
    assert is_simple_like("%a%b%")
    assert not is_simple_like("%a%b%c%")
    assert not is_simple_like("a" * 257)
