"""Bodies go through JSON unchanged, and what is no body is refused with its place."""

from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.values import any_value
from tests.tiers import examples

from brokerwise.runtime.protocol import balance, data, fleet, watch
from brokerwise.runtime.protocol.fields import BodyReader, FieldError, TextReader
from brokerwise.runtime.protocol.fleet import (
    BrokerConfiguration,
    BrokerRequest,
    MoveAnswer,
    MoveRequest,
    UserRegistration,
)
from brokerwise.runtime.protocol.seed import Seed

RULED = {"Channel", "Column", "Dataset", "UserRegistration"}  # tested on their own


def bodies(module: ModuleType) -> list[Any]:
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
        and kind.__name__ not in RULED
    ]


KINDS = [kind for module in (fleet, balance, watch, data) for kind in bodies(module)]


@pytest.mark.parametrize("kind", [*KINDS, Seed], ids=lambda kind: kind.__name__)
@settings(max_examples=examples(20))
@given(drawn=st.data())
def test_everything_comes_back_as_it_was(kind: Any, drawn: st.DataObject) -> None:
    told = drawn.draw(any_value(kind))
    assert BodyReader(kind).read(msgspec.json.encode(told)) == told


@given(st.binary(max_size=60))
def test_any_bytes_are_a_body_or_an_error_of_ours(content: bytes) -> None:
    with pytest.raises(FieldError, match="body"):
        BodyReader(MoveAnswer).read(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b'{"answer": 1}',
        b'{"answer": "\xff"}',
        b'{"answer": "\\ud800"}',
        b'{"answer": "a", "x": "\xff"}',
        b'{"answer": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_body_is_an_error_of_ours(content: bytes) -> None:
    with pytest.raises(FieldError, match="body"):
        BodyReader(MoveAnswer).read(content)


@pytest.mark.parametrize(
    ("kind", "content", "place", "reason"),
    [
        (MoveRequest, b'{"user": 5}', "body.user", "Expected `str`, got `int`"),
        (
            *(MoveRequest, b'{"user": "a", "from": "b\\n", "to": "c"}', "body.from"),
            "found a name with '\\n' in it, which no name may have",
        ),
        (
            *(BrokerRequest, b'{"user": "a", "topics": ["a", ""]}', "body.topics[1]"),
            "Expected `str` of length >= 1",
        ),
        (
            BrokerRequest,
            '{"user": "a", "topics": ["a", "b", "%s"]}' % ("é" * 129),
            "body.topics[2]",
            "found a name of 258 bytes, expected at most 256",
        ),
        (
            *(
                fleet.BrokerRegistration,
                b'{"broker": "b", "url": "ws://h\\n", "pid": 1}',
            ),
            *("body.url", "expected a text like ^wss?://[0-9A-Za-z._:\\[\\]%-]+$"),
        ),
        (
            *(balance.BalanceOptions, b'{"policy": "best"}', "body.policy"),
            "expected one of none, ldm, sdm, gsh, ldm+gsh, sdm+gsh, planned",
        ),
        (
            *(UserRegistration, b'{"user": "a", "x": 1}', "body"),
            "x and y go together: give both or none",
        ),
    ],
)
def test_an_error_names_the_place_and_what_was_expected(
    kind: Any, content: bytes | str, place: str, reason: str
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(FieldError) as error:
        BodyReader(kind).read(raw)
    assert (error.value.place, error.value.reason) == (place, reason)
    assert error.value.message == f"{place}: {reason}"


def test_a_text_is_read_as_what_it_stands_for() -> None:
    kind: Any = fleet.MoveState | None
    assert TextReader(kind, "query.state").read("done") is fleet.MoveState.DONE
    with pytest.raises(FieldError, match=r"query\.state: Invalid enum value 'x'"):
        TextReader(kind, "query.state").read("x")


def test_a_newer_coordinator_may_say_more() -> None:
    content = b'{"answer": "moved", "mood": {"good": true}}'
    assert BodyReader(MoveAnswer).read(content) == MoveAnswer("moved")


def test_what_is_not_said_has_its_default() -> None:
    content = b'{"epoch": 3, "lease_seconds": 3, "heartbeat_seconds": 0.75}'
    found = BodyReader(BrokerConfiguration).read(content)
    assert found == BrokerConfiguration(3, 3.0, 0.75)
