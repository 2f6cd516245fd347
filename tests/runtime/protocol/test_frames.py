"""Frames: each comes back as it was, and nothing that is sent can do harm."""

import json
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.runtime.values import any_value, json_values
from tests.tiers import examples

from brokerwise.runtime.protocol.frames import (
    Ack,
    Forward,
    Frame,
    FrameError,
    FromBroker,
    FromClient,
    Login,
    Message,
    Publish,
    Subscribe,
    Unsubscribe,
    decode_from_broker,
    decode_from_client,
    encode,
)
from brokerwise.runtime.protocol.limits import (
    MAX_CURSORS_PER_FRAME,
    MAX_NAME_BYTES,
    MAX_REASON_LENGTH,
    MAX_SEQ,
    MAX_TOKEN_LENGTH,
    MAX_TOPICS_PER_FRAME,
)

CLIENT_KINDS = get_args(FromClient)
BROKER_KINDS = get_args(FromBroker)
PUBLISH = '{"type":"publish","topic":"a","epoch":1,"seq":1,"data":%s}'
MOST_REASON_BYTES = 123  # of a WebSocket close


def publish_of(data: bytes) -> bytes:
    return PUBLISH.encode() % data


def outcome(
    text: bytes | str, decode: Callable[[bytes | str], Frame] = decode_from_client
) -> Frame | FrameError:
    """What a broker makes of it; any exception but FrameError is a fault."""
    try:
        return decode(text)
    except FrameError as error:
        return error


@pytest.mark.parametrize("kind", CLIENT_KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_what_a_client_says_comes_back_as_it_was(
    kind: type[Frame], data: st.DataObject
) -> None:
    frame = data.draw(any_value(kind))
    assert decode_from_client(encode(frame)) == frame
    assert decode_from_client(encode(frame).decode()) == frame


@pytest.mark.parametrize("kind", BROKER_KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_what_a_broker_says_comes_back_as_it_was(
    kind: type[Frame], data: st.DataObject
) -> None:
    frame = data.draw(any_value(kind))
    assert decode_from_broker(encode(frame)) == frame


@pytest.mark.parametrize(
    "kind", [*CLIENT_KINDS, *BROKER_KINDS], ids=lambda kind: kind.__name__
)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_a_frame_is_json_that_anyone_can_read(
    kind: type[Frame], data: st.DataObject
) -> None:
    content = json.loads(encode(data.draw(any_value(kind))))
    expected = "".join(
        f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__
    ).lstrip("_")
    assert content["type"] == expected


@given(st.binary(max_size=200))
@example(b"")
@example(b"\x00")
@example(b"\xef\xbb\xbf{}")
def test_any_bytes_are_a_frame_or_a_frame_error(content: bytes) -> None:
    for decode in (decode_from_client, decode_from_broker):
        said = outcome(content, decode)
        if isinstance(said, Frame):
            assert decode(encode(said)) == said


@given(
    kind=st.sampled_from([kind.__struct_config__.tag for kind in CLIENT_KINDS]),
    fields=st.dictionaries(
        st.sampled_from(
            sorted({f for kind in CLIENT_KINDS for f in kind.__struct_fields__})
        ),
        json_values,
    ),
)
def test_any_json_is_a_frame_or_a_frame_error(
    kind: str, fields: dict[str, Any]
) -> None:
    said = outcome(json.dumps({"type": kind, **fields}).encode())
    assert isinstance(said, FrameError | Frame)
    if isinstance(said, Frame):
        assert decode_from_client(encode(said)) == said


@given(json_values)
def test_data_is_passed_on_byte_for_byte(value: Any) -> None:
    sent = msgspec.json.encode(value)
    frame = decode_from_client(publish_of(sent))
    assert isinstance(frame, Publish)
    message = Message(frame.topic, "ann", frame.epoch, frame.seq, frame.data, 1.5)
    passed_on = encode(message)
    assert b'"data":' + sent + b',"at":1.5}' in passed_on
    assert json.loads(passed_on)["data"] == json.loads(sent)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"NaN",
        b"Infinity",
        b"'a'",
        b"[1,]",
        b"01",
        b'"\x01"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\\ud800"',
        b'"\\udc00"',
        b'"\\ud800\\u0041"',
        b"",
        b'1},{"type":"logout"',
    ],
    ids=range(15),
)
def test_data_that_some_subscriber_could_not_read_is_refused(data: bytes) -> None:
    assert isinstance(outcome(publish_of(data)), FrameError)


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"ack","count":-1}',
        '{"type":"ack","count":1.0}',
        '{"type":"ack","count":true}',
        '{"type":"ack","count":"1"}',
        f'{{"type":"ack","count":{MAX_SEQ + 1}}}',
        '{"type":"ack","count":' + "9" * 5_000 + "}",
        '{"type":"login","user":"a","token":"t","version":' + "9" * 5_000 + "}",
        '{"type":"publish","topic":"a","epoch":1,"seq":0}',
        '{"type":"publish","topic":"a","epoch":1}',
        '{"type":"publish","topic":"a","epoch":1,"seq":1,"at":NaN}',
        '{"type":"publish","topic":"a","epoch":1,"seq":1,"at":1e999}',
        '{"type":"subscribe","ranges":{"x":[0,1e999]}}',
        '{"type":"subscribe","ranges":{"x":[0]}}',
        '{"type":"subscribe","topics":"news"}',
        '{"type":"subscribe","cursors":[["a","b",1]]}',
        '{"type":"message","topic":"a","source":"b","epoch":1,"seq":1}',
        '{"type":"login","type":"ack","count":1}',
        '{"type":"Logout"}',
        '{"type":null}',
        '{"count":1}',
        "null",
        "[]",
        '{"type":"logout"} {"type":"logout"}',
        "\ud800",
    ],
    ids=range(24),
)
def test_a_wrong_field_is_a_frame_error(text: str) -> None:
    assert isinstance(outcome(text), FrameError)


def test_of_a_field_that_is_there_twice_the_last_one_counts() -> None:
    text = b'{"type":"login","user":"ann","user":"bob","token":"t"}'
    assert decode_from_client(text) == Login("bob", "t")


def test_fields_may_come_in_any_order_and_unknown_ones_are_ignored() -> None:
    text = b'{"count":3,"mood":{"good":[1,2]},"type":"ack"}'
    assert decode_from_client(text) == Ack(3)


def frames_with(name: str) -> list[Any]:
    """A frame for each place that a name has, as JSON."""
    message = {"topic": "t", "source": "s", "epoch": 1, "seq": 1}
    return [
        {"type": "login", "user": name, "token": "t"},
        {"type": "login", "user": "u", "token": "t", "source": name},
        {"type": "subscribe", "topics": ["t", name]},
        {"type": "subscribe", "ranges": {name: [0, 1]}},
        {"type": "subscribe", "cursors": [[name, "s", 1, 1]]},
        {"type": "subscribe", "cursors": [["t", name, 1, 1]]},
        {"type": "unsubscribe", "topics": [name]},
        {"type": "ack", "count": 1, "cursors": [["t", "s", 1, 1], [name, "s", 1, 1]]},
        {"type": "ack", "count": 1, "cursors": [["t", name, 1, 1]]},
        {**message, "type": "publish", "topic": name},
        {**message, "type": "forward", "topic": name},
        {**message, "type": "forward", "source": name},
        {**message, "type": "forward", "origin": name},
    ]


PLACES = range(len(frames_with("")))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name",
    ["a" * MAX_NAME_BYTES, "é" * (MAX_NAME_BYTES // 2), "a b/.", "日\u3000本"],
)
def test_a_name_of_the_most_bytes_is_taken_anywhere(place: int, name: str) -> None:
    assert isinstance(outcome(json.dumps(frames_with(name)[place])), Frame)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name",
    [
        "a" * (MAX_NAME_BYTES + 1),
        "é" * (MAX_NAME_BYTES // 2 + 1),
        "a\nb",
        "a\x00b",
        "a\x7fb",
        "a\u0085b",
        "a\u2028b",
    ],
)
def test_a_name_too_long_in_bytes_or_with_control_characters_is_refused_anywhere(
    place: int, name: str
) -> None:
    said = outcome(json.dumps(frames_with(name)[place]))
    assert isinstance(said, FrameError)
    assert name not in str(said)


@pytest.mark.parametrize("place", PLACES)
def test_an_empty_name_is_refused_but_where_it_means_none(place: int) -> None:
    frame = frames_with("")[place]
    optional = frame.get("source") == "" and frame["type"] == "login"
    optional |= frame.get("origin") == ""
    assert isinstance(outcome(json.dumps(frame)), Frame) == optional


def test_a_program_that_makes_a_frame_with_a_wrong_name_is_told_at_once() -> None:
    wrong = "a\nb"
    for make in (
        lambda: Login(wrong, "t"),
        lambda: Login("u", "t", wrong),
        lambda: Subscribe(topics=(wrong,)),
        lambda: Unsubscribe(topics=(wrong,)),
        lambda: Publish(wrong, 1, 1),
        lambda: Forward("t", wrong, 1, 1),
        lambda: Ack(1, ((wrong, "s", 1, 1),)),
    ):
        with pytest.raises(FrameError, match="which no name may have"):
            make()


@pytest.mark.parametrize(
    ("most", "frame"),
    [
        (MAX_TOKEN_LENGTH, lambda n: {"type": "login", "user": "u", "token": "t" * n}),
        (
            MAX_REASON_LENGTH,
            lambda n: {"type": "decline", "move": 1, "reason": "r" * n},
        ),
        (MAX_TOPICS_PER_FRAME, lambda n: {"type": "subscribe", "topics": ["t"] * n}),
        (MAX_TOPICS_PER_FRAME, lambda n: {"type": "unsubscribe", "topics": ["t"] * n}),
        (
            MAX_CURSORS_PER_FRAME,
            lambda n: {"type": "ack", "count": 1, "cursors": [["t", "s", 0, 0]] * n},
        ),
        (MAX_SEQ, lambda n: {"type": "publish", "topic": "t", "epoch": n, "seq": 1}),
        (MAX_SEQ, lambda n: {"type": "publish", "topic": "t", "epoch": 0, "seq": n}),
    ],
    ids=["token", "reason", "subscribe", "unsubscribe", "cursors", "epoch", "seq"],
)
def test_a_limit_is_the_last_that_is_taken(most: int, frame: Any) -> None:
    assert isinstance(outcome(json.dumps(frame(most))), Frame)
    assert isinstance(outcome(json.dumps(frame(most + 1))), FrameError)


@given(st.text(min_size=200, max_size=400))
def test_an_error_fits_into_a_close_and_into_a_line_of_a_log(kind: str) -> None:
    said = outcome(json.dumps({"type": kind}))
    assert isinstance(said, FrameError)
    assert len(str(said).encode()) <= MOST_REASON_BYTES
    assert str(said).isprintable()
