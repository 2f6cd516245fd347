"""Tokens: what we signed is ours, and nothing else is."""

import hashlib
import hmac

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brokerwise.runtime.protocol.tokens import Holder, Keys, Role

KEYS = Keys.of_secret(b"a secret of this test")
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
roles = st.sampled_from(list(Role))


def signed_by_hand(role: Role, encoded: str) -> str:
    """A token made with the right key, but not by `Keys.token`."""
    key = bytes.fromhex(KEYS.as_json()[role])
    signed = f"{role}.{encoded}"
    return f"{signed}.{hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()}"


@given(roles, names)
def test_a_token_names_whom_it_was_made_for(role: Role, name: str) -> None:
    token = KEYS.token(role, name)
    assert token.isascii()
    assert KEYS.holder(token) == Holder(role, name)


@given(roles, names, st.data())
def test_a_token_with_one_character_changed_is_none_of_ours(
    role: Role, name: str, data: st.DataObject
) -> None:
    token = KEYS.token(role, name)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters())
    assume(other != token[at])
    assert KEYS.holder(token[:at] + other + token[at + 1 :]) is None


@given(roles, names, st.data())
def test_a_token_that_was_cut_or_made_longer_is_none_of_ours(
    role: Role, name: str, data: st.DataObject
) -> None:
    token = KEYS.token(role, name)
    cut = data.draw(st.integers(0, len(token) - 1))
    assert KEYS.holder(token[:cut]) is None
    assert KEYS.holder(token[cut + 1 :]) is None
    assert KEYS.holder(token + data.draw(st.text(min_size=1, max_size=3))) is None


@given(st.text(max_size=200))
def test_any_other_text_is_none_of_ours(text: str) -> None:
    assert KEYS.holder(text) is None
    assert KEYS.holder(f"user.{text}") is None
    assert KEYS.holder(f"user.YW5u.{text}") is None


@pytest.mark.parametrize("other", [r for r in Role if r is not Role.USER])
def test_a_user_cannot_turn_its_token_into_that_of_another_role(other: Role) -> None:
    _, rest = KEYS.token(Role.USER, "ann").split(".", 1)
    assert KEYS.holder(f"{other}.{rest}") is None


def test_a_user_cannot_turn_its_token_into_that_of_another_user() -> None:
    _, name, _ = KEYS.token(Role.USER, "bob").split(".")
    _, _, signature = KEYS.token(Role.USER, "ann").split(".")
    assert KEYS.holder(f"user.{name}.{signature}") is None


def test_another_secret_makes_other_tokens() -> None:
    token = Keys.of_secret(b"another").token(Role.USER, "ann")
    assert KEYS.holder(token) is None


@pytest.mark.parametrize("token", ["", ".", "..", "user", "user..", "root.YQ.00"])
def test_empty_parts_and_unknown_roles_are_none_of_ours(token: str) -> None:
    assert KEYS.holder(token) is None


@pytest.mark.parametrize(
    "signature", ["\ud800", "é", "\x00", "\N{FULLWIDTH DIGIT ZERO}" * 64]
)
def test_a_signature_that_is_not_ascii_is_refused_like_any_other(
    signature: str,
) -> None:
    assert KEYS.holder(f"user.YW5u.{signature}") is None


@pytest.mark.parametrize("encoded", ["", "A", "_w", "%%%"])
def test_a_signed_name_that_cannot_be_read_is_nobody(encoded: str) -> None:
    assert KEYS.holder(signed_by_hand(Role.USER, encoded)) is None


def test_a_name_may_hold_what_separates_the_parts_of_a_token() -> None:
    name = "operator.b.c/d e.\N{SNOWMAN}"
    assert KEYS.holder(KEYS.token(Role.USER, name)) == Holder(Role.USER, name)


def test_who_lacks_the_key_of_a_role_can_neither_sign_nor_check_for_it() -> None:
    brokers = KEYS.only(Role.USER, Role.BROKER)
    assert brokers.holder(KEYS.token(Role.USER, "ann")) == Holder(Role.USER, "ann")
    assert brokers.holder(KEYS.token(Role.OPERATOR, "ann")) is None
    with pytest.raises(KeyError):
        brokers.token(Role.OPERATOR, "ann")


def test_keys_go_through_json_unchanged_and_each_is_its_own() -> None:
    content = KEYS.as_json()
    assert len(set(content.values())) == len(Role)
    again = Keys.from_json(content)
    assert again.as_json() == content
    assert again.token(Role.BROKER, "b0") == KEYS.token(Role.BROKER, "b0")
