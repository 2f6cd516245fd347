"""docs/protocol.md says what is so: its examples, limits, fields and codes."""

import json
import re
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
import pytest
from tests.runtime.protocol_page import (
    blocks,
    body_examples,
    frame_examples,
    frame_section,
    page,
    rows,
    section,
)

from brokerwise.runtime.protocol import limits
from brokerwise.runtime.protocol.fleet import Axis, BalancePage, BrokerAnswer, Route
from brokerwise.runtime.protocol.frames import (
    CloseCode,
    FromBroker,
    FromClient,
    Welcome,
    decode_from_broker,
    decode_from_client,
)

CLIENT = {kind.__struct_config__.tag: kind for kind in get_args(FromClient)}
BROKER = {kind.__struct_config__.tag: kind for kind in get_args(FromBroker)}
BOUNDS = {name: value for name, value in vars(limits).items() if name.isupper()}


@dataclass(frozen=True)
class Routes:
    routes: tuple[Route, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Axes:
    axes: tuple[Axis, ...]


@pytest.mark.parametrize("example", frame_examples())
def test_every_example_is_a_frame_with_no_field_that_we_do_not_know(
    example: str,
) -> None:
    content = json.loads(example)
    sender = CLIENT if content["type"] in CLIENT else BROKER
    decode: Any = decode_from_client if sender is CLIENT else decode_from_broker
    frame = decode(example)
    assert content.keys() - {"type"} <= set(frame.__struct_fields__)
    for field in content.keys() - {"type", "data"}:
        value = getattr(frame, field)
        assert msgspec.to_builtins(value, builtin_types=()) == as_tuples(content[field])


def as_tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(as_tuples, value))
    if isinstance(value, dict):
        return {key: as_tuples(each) for key, each in value.items()}
    return value


def test_every_frame_has_an_example() -> None:
    shown = {json.loads(example)["type"] for example in frame_examples()}
    assert shown == CLIENT.keys() | BROKER.keys()


@pytest.mark.parametrize("tag", [*CLIENT, *BROKER])
def test_every_field_of_a_frame_is_explained_under_its_heading(tag: str) -> None:
    explained = set(
        re.findall(r"`(\w+)`", " ".join(r[0] for r in rows(frame_section(tag))))
    )
    assert set((CLIENT | BROKER)[tag].__struct_fields__) <= explained


def test_no_field_is_explained_that_there_is_not() -> None:
    fields = {f for kind in (CLIENT | BROKER).values() for f in kind.__struct_fields__}
    for tag in CLIENT | BROKER:
        for row in rows(frame_section(tag)):
            assert set(re.findall(r"`(\w+)`", row[0])) <= fields


def test_every_limit_is_quoted_as_it_is() -> None:
    quoted = {name.strip("`"): value for name, value, _ in rows(section("Limits"))[1:]}
    assert {n: float(v.replace(",", "")) for n, v in quoted.items()} == BOUNDS


def test_the_welcome_of_the_page_is_that_of_a_broker() -> None:
    (text,) = [e for e in frame_examples() if '"welcome"' in e]
    shown = decode_from_broker(text)
    assert shown == Welcome(
        "b0",
        4,
        limits.VERSION,
        limits.BEAT_SECONDS,
        limits.SILENCE_SECONDS,
        limits.ACK_EVERY,
        limits.ACK_SECONDS,
        limits.PUBLISH_WINDOW,
        limits.MAX_FRAME_BYTES,
    )


@pytest.mark.parametrize(
    "sentence",
    [
        f"1 to {limits.MAX_NAME_BYTES} bytes of UTF-8",
        f"gives a client {limits.LOGIN_SECONDS:g} s for each step",
        f"Ours waits {limits.REQUEST_SECONDS:g} s for the connection",
        f"at most {limits.MAX_SEQ:,}, which JavaScript",
        f"more than {limits.PUBLISH_RATE:,} a second",
        f"more than {limits.SESSION_QUEUE_BYTES:,} bytes waited",
        f"more than {limits.MAX_UNACKNOWLEDGED:,} messages, or none for "
        f"{limits.ACK_PATIENCE_SECONDS:g} s",
        f"have not said `moved` {limits.MOVE_SECONDS:g} s",
        f"may come another way, {limits.TRANSITION_SECONDS:g} s at most",
        f"at most {limits.MAX_TOPICS_PER_FRAME:,} names",
        f"at most {limits.MAX_CURSORS_PER_FRAME:,} cursors",
        f"at most {limits.MAX_TOKEN_LENGTH:,} characters",
        f"Version of the protocol: {limits.VERSION}.",
    ],
)
def test_limits_are_quoted_as_they_are_in_sentences_too(sentence: str) -> None:
    assert sentence in " ".join(page().split())


def test_every_close_code_is_explained() -> None:
    codes = {value for name, value in vars(CloseCode).items() if name.isupper()}
    explained = {
        int(code)
        for row in rows(section("Close codes"))[1:]
        for code in row[0].split(", ")
    }
    assert {code for code in explained if code >= 4000} == codes


def test_answers_of_coordinator_and_brokers_are_of_their_kind() -> None:
    kinds: dict[str, Any] = {
        **{"sessions": BrokerAnswer, "routes": Routes, "axes": Axes},
        "broker": BalancePage,
    }
    seen = set()
    for body in body_examples():
        first = next(iter(json.loads(body)))
        if first in kinds:
            seen.add(first)
            msgspec.json.decode(body, type=kinds[first])
    assert seen == kinds.keys()


def test_the_browser_needs_fifteen_lines() -> None:
    (script,) = blocks("javascript")
    assert len(script.splitlines()) == 15


def test_links_within_the_page_lead_somewhere() -> None:
    heads = {
        re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")
        for head in re.findall(r"^##+ (.*)$", page(), re.M)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", page())) <= heads
