"""What may be a name, by bytes and not by letters."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.limits import MAX_NAME_BYTES
from brokerwise.runtime.naming import refusal


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
