"""What coordinator and brokers tell each other goes through JSON unchanged."""

import dataclasses
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.values import any_value
from tests.tiers import examples

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.protocol import control
from brokerwise.runtime.protocol.control import BrokerConfiguration, MoveAnswer, convert
from brokerwise.runtime.protocol.seed import Seed

KINDS = [
    kind
    for kind in vars(control).values()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
]


@pytest.mark.parametrize("kind", [*KINDS, Seed], ids=lambda kind: kind.__name__)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_everything_comes_back_as_it_was(kind: Any, data: st.DataObject) -> None:
    told = data.draw(any_value(kind))
    assert convert(msgspec.json.encode(told), kind) == told


@given(st.binary(max_size=60))
def test_any_bytes_are_an_answer_or_an_error_of_ours(content: bytes) -> None:
    with pytest.raises(BrokerwiseError, match="cannot read an answer as MoveAnswer"):
        convert(content, MoveAnswer)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b'{"answer": 1}',
        b'{"answer": "\xff"}',
        b'{"answer": "\\ud800"}',
        b'{"answer": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_answer_is_an_error_of_ours(content: bytes) -> None:
    with pytest.raises(BrokerwiseError, match="cannot read an answer as MoveAnswer"):
        convert(content, MoveAnswer)


def test_a_newer_coordinator_may_say_more() -> None:
    content = b'{"answer": "moved", "mood": {"good": true}}'
    assert convert(content, MoveAnswer) == MoveAnswer("moved")


def test_what_is_not_said_has_its_default() -> None:
    content = b'{"epoch": 3, "lease_seconds": 3, "heartbeat_seconds": 0.75}'
    assert convert(content, BrokerConfiguration) == BrokerConfiguration(3, 3.0, 0.75)
