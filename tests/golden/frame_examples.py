"""Frames as others send them: complete, with only what they need, and wrong ones.

They are texts, so that nothing here depends on how frames are declared.
"""

import json
from typing import Any

_CURSORS = [["news", "bob", 7, 12], ["é/ü", "bob/2", 0, 0]]

# By type: with only what it has to have, and with everything.
FROM_CLIENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "login": (
        {"user": "ann", "token": "user.YW5u.00"},
        {"user": "ann", "token": "user.YW5u.00", "source": "ann/2", "version": 1},
    ),
    "subscribe": (
        {},
        {
            "id": 3,
            "topics": ["news", "é/ü"],
            "ranges": {"x": [0.25, 1]},
            "cursors": _CURSORS,
            "latest": True,
        },
    ),
    "unsubscribe": ({}, {"id": 4, "topics": ["news"], "elsewhere": True}),
    "ack": ({"count": 64}, {"count": 64, "cursors": _CURSORS}),
    "publish": (
        {"topic": "news", "epoch": 7, "seq": 1},
        {
            "topic": "news",
            "epoch": 7,
            "seq": 9007199254740991,
            "data": {"a": [1, 2.5, None, True, "é"]},
            "generation": 3,
            "at": 1700000000000.5,
        },
    ),
    "accept": ({"move": 5}, {"move": 5}),
    "decline": ({"move": 5}, {"move": 5, "reason": "busy"}),
    "moved": ({"move": 5}, {"move": 5}),
    "logout": ({}, {}),
    "forward": (
        {"topic": "news", "source": "bob", "epoch": 7, "seq": 1},
        {
            "topic": "subchannel/0",
            "source": "bob",
            "epoch": 7,
            "seq": 1,
            "data": "text",
            "at": 1.5,
            "origin": "b1",
            "generation": 3,
        },
    ),
}

FROM_BROKER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "welcome": (
        (
            welcome := {
                "broker": "b0",
                "epoch": 4,
                "version": 1,
                "beat_seconds": 1.0,
                "silence_seconds": 3.0,
                "ack_every": 64,
                "ack_seconds": 0.2,
                "publish_window": 1024,
                "max_frame_bytes": 1048576,
            }
        ),
        welcome,
    ),
    "subscribed": (
        {"id": 3, "topics": ["news"]},
        {"id": 3, "topics": ["news", "é/ü"], "cursors": _CURSORS},
    ),
    "unsubscribed": ({"id": 4, "topics": ["news"]}, {"id": 4, "topics": ["news"]}),
    "message": (
        {"topic": "news", "source": "bob", "epoch": 7, "seq": 1},
        {
            "topic": "news",
            "source": "bob",
            "epoch": 7,
            "seq": 1,
            "data": {"a": 1},
            "at": 1700000000000.5,
            "skipped": True,
        },
    ),
    "beat": ({}, {}),
    "published": ({"count": 12}, {"count": 12}),
    "stale_route": (
        {"topic": "news", "generation": 3, "brokers": []},
        {
            "topic": "news",
            "generation": 3,
            "brokers": [["b0", "ws://127.0.0.1:1"], ["b1", "wss://[::1]:2"]],
        },
    ),
    "request_to_move": (
        {"move": 5, "broker": "b1", "url": "ws://127.0.0.1:1"},
        {"move": 5, "broker": "b1", "url": "ws://127.0.0.1:1", "topics": ["news"]},
    ),
    "connect": (
        {"move": 5, "broker": "b1", "url": "ws://127.0.0.1:1"},
        {"move": 5, "broker": "b1", "url": "ws://127.0.0.1:1", "topics": ["news"]},
    ),
    "problem": (
        {"code": "unknown_topic", "message": "there is no topic 'x'"},
        {
            "code": "unknown_topic",
            "message": "there is no topic 'x'",
            "id": 3,
            "topics": ["x"],
        },
    ),
}


def text(type_: str, fields: dict[str, Any]) -> str:
    return json.dumps({"type": type_, **fields}, ensure_ascii=False)


def _publish(**changes: Any) -> str:
    return text("publish", {"topic": "news", "epoch": 7, "seq": 1, **changes})


def _login(**changes: Any) -> str:
    return text("login", {"user": "ann", "token": "t", **changes})


_MANY = ["t"] * 10_001

# What a broker hangs up on, by what is wrong with it.
BAD_FROM_CLIENT: dict[str, bytes | str] = {
    "nothing": b"",
    "not JSON": b"hello",
    "half of it": b'{"type":"publish","topic":"ne',
    "more behind it": b'{"type":"logout"} {}',
    "not UTF-8": b'{"type":"publish","topic":"a","epoch":1,"seq":1,"data":"\xff"}',
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "too deep": b'{"type":"subscribe","ranges":' + b"[" * 100_000,
    "data is too deep": b'{"type":"publish","topic":"a","epoch":1,"seq":1,"data":'
    + b"[" * 100_000,
    "no type": b"{}",
    "type is a number": b'{"type":1}',
    "unknown type": text("hello", {}),
    "a frame of brokers": text("beat", {}),
    "login without a user": text("login", {"token": "t"}),
    "login without a token": text("login", {"user": "ann"}),
    "user is empty": _login(user=""),
    "user is too long": _login(user="u" * 257),
    "user has too many bytes": _login(user="é" * 129),
    "user has a line end": _login(user="a\nb"),
    "user is a number": _login(user=1),
    "token is too long": _login(token="t" * 1_025),
    "source is too long": _login(source="s" * 257),
    "source has a separator": _login(source="a\u2028b"),
    "version is below 0": _login(version=-1),
    "version is a text": _login(version="1"),
    "id is below 0": text("subscribe", {"id": -1}),
    "topics is a text": text("subscribe", {"topics": "news"}),
    "too many topics": text("subscribe", {"topics": _MANY}),
    "a topic is empty": text("subscribe", {"topics": ["news", ""]}),
    "a topic has a control character": text("subscribe", {"topics": ["a\u0085"]}),
    "a range of one": text("subscribe", {"ranges": {"x": [1]}}),
    "a range of texts": text("subscribe", {"ranges": {"x": ["a", "b"]}}),
    "a range without a name": text("subscribe", {"ranges": {"": [0, 1]}}),
    "a cursor of three": text("subscribe", {"cursors": [["news", "bob", 1]]}),
    "a cursor below 0": text("subscribe", {"cursors": [["news", "bob", 1, -1]]}),
    "a cursor of no topic": text("subscribe", {"cursors": [["", "bob", 1, 1]]}),
    "a cursor of a bad source": text(
        "ack", {"count": 1, "cursors": [["a", "\t", 1, 1]]}
    ),
    "too many cursors": text(
        "ack", {"count": 1, "cursors": [["a", "b", 1, 1]] * 100_001}
    ),
    "latest is a number": text("subscribe", {"latest": 1}),
    "too many topics no more": text("unsubscribe", {"topics": _MANY}),
    "ack without a count": text("ack", {}),
    "ack below 0": text("ack", {"count": -1}),
    "publish without a topic": text("publish", {"epoch": 7, "seq": 1}),
    "publish without an epoch": text("publish", {"topic": "news", "seq": 1}),
    "publish without a seq": text("publish", {"topic": "news", "epoch": 7}),
    "topic is empty": _publish(topic=""),
    "topic is too long": _publish(topic="t" * 257),
    "topic has a zero": _publish(topic="a\0b"),
    "epoch is below 0": _publish(epoch=-1),
    "seq is 0": _publish(seq=0),
    "seq is too large": _publish(seq=9007199254740992),
    "seq is a fraction": _publish(seq=1.5),
    "generation is below 0": _publish(generation=-1),
    "at is a text": _publish(at="now"),
    "data is no JSON": b'{"type":"publish","topic":"a","epoch":1,"seq":1,"data":NaN}',
    "accept without a move": text("accept", {}),
    "move is below 0": text("accept", {"move": -1}),
    "reason is too long": text("decline", {"move": 1, "reason": "r" * 1_025}),
    "moved without a move": text("moved", {}),
    "forward without a source": text("forward", {"topic": "a", "epoch": 1, "seq": 1}),
    "forward of a bad source": text(
        "forward", {"topic": "a", "source": "\x7f", "epoch": 1, "seq": 1}
    ),
    "forward of a bad origin": text(
        "forward",
        {"topic": "a", "source": "b", "epoch": 1, "seq": 1, "origin": "\r"},
    ),
}

# What a client finds wrong with what a broker says.
BAD_FROM_BROKER: dict[str, bytes | str] = {
    "not JSON": b"hello",
    "unknown type": text("hello", {}),
    "a frame of clients": text("logout", {}),
    "welcome without a broker": text("welcome", {}),
    "message without a seq": text("message", {"topic": "a", "source": "b", "epoch": 1}),
    "brokers of three": text(
        "stale_route", {"topic": "a", "generation": 1, "brokers": [["a", "b", "c"]]}
    ),
}
