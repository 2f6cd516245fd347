"""Our own protocol: JSON text over WebSocket, as docs/protocol.md has it."""

import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from benchmarks.raw_client.speech import TOPIC, Exchange, index_in, payload

from brokerwise.runtime.protocol.frames import Message, encode
from brokerwise.runtime.protocol.limits import ACK_EVERY
from brokerwise.runtime.protocol.tokens import Keys, Role

_FIRST_SEQ = 1_000_001  # so that all have as many digits
_PUBLISHER = "publisher"
_UPGRADE = (
    b"GET /session HTTP/1.1\r\nHost: broker\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
    b"Sec-WebSocket-Version: 13\r\n\r\n"
)


class Brokerwise:
    """With identities, and acknowledgements as clients owe them."""

    acknowledges_each = False
    acknowledge_every = ACK_EVERY

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._generation = 0
        self._heard = b""
        self._epoch = time.time_ns() // 1_000_000
        as_received = Message(
            *(TOPIC, _PUBLISHER, self._epoch, _FIRST_SEQ),
            data=msgspec.Raw(b'"' + payload(0) + b'"'),
            at=float(self._epoch),
        )
        self.message_bytes = 4 + len(encode(as_received))

    def subscriber_greeting(self, number: int) -> tuple[Exchange, ...]:
        subscribe = {"type": "subscribe", "topics": [TOPIC]}
        return (
            *self._login(f"subscriber{number}"),
            (_framed(subscribe), partial(_answer, "subscribed")),
        )

    def publisher_greeting(self) -> tuple[Exchange, ...]:
        return self._login(_PUBLISHER)

    def _login(self, user: str) -> tuple[Exchange, ...]:
        token = self._keys.token(Role.USER, user)
        login = {"type": "login", "user": user, "token": token}
        return (_UPGRADE, _upgraded), (_framed(login), partial(_answer, "welcome"))

    def publication(self, index: int) -> bytes:
        at = time.time_ns() // 1_000_000
        return _masked(
            b'{"type":"publish","topic":"%s","epoch":%d,"seq":%d,"data":"%s",'
            b'"generation":%d,"at":%d.0}'
            % (
                *(TOPIC.encode(), self._epoch, _FIRST_SEQ + index, payload(index)),
                *(self._generation, at),
            )
        )

    def publisher_hears(self, data: bytes) -> None:
        """A new route is used from then on, as it should be."""
        self._heard += data
        while self._heard:
            end = _end_of_frame(self._heard, 0)
            if end is None:
                return
            frame = _content(self._heard[:end])
            if frame["type"] == "stale_route":
                self._generation = frame["generation"]
            elif frame["type"] not in ("published", "beat"):
                raise ValueError(f"the publisher was told {frame}")
            self._heard = self._heard[end:]

    def complete(self, data: bytes) -> tuple[int, int]:
        messages = at = 0
        while (end := _end_of_frame(data, at)) is not None:
            if end - at == self.message_bytes:
                messages += 1
            elif b'"beat"' not in data[at:end]:
                raise ValueError(f"not a message: {data[at:end]!r}")
            at = end
        return messages, at

    def acknowledgement(self, data: memoryview, messages: int, received: int) -> bytes:
        return _masked(
            b'{"type":"ack","count":%d,"cursors":[["%s","%s",%d,%d]]}'
            % (
                *(received, TOPIC.encode(), _PUBLISHER.encode()),
                *(self._epoch, _FIRST_SEQ + received - 1),
            )
        )

    def index_of(self, data: bytes) -> int:
        return index_in(data)


def _framed(frame: Mapping[str, object]) -> bytes:
    return _masked(json.dumps(frame).encode())


def _masked(text: bytes) -> bytes:
    """A client's frame, whose mask is 0: it changes nothing, and takes no time."""
    size = len(text)
    if size < 126:
        return bytes([0x81, 0x80 | size, 0, 0, 0, 0]) + text
    return bytes([0x81, 0xFE, size >> 8, size & 255, 0, 0, 0, 0]) + text


def _end_of_frame(data: bytes, at: int) -> int | None:
    """Where the server's frame that begins there ends; None if not all has come."""
    if len(data) < at + 4:
        return None
    if data[at] == 0x88:
        code = int.from_bytes(data[at + 2 : at + 4])
        reason = data[at + 4 : at + 2 + data[at + 1]].decode()
        raise ConnectionError(f"the broker hung up: {code} {reason}")
    if data[at] != 0x81 or data[at + 1] > 126:
        raise ValueError(f"not a frame of text: {data[at : at + 200]!r}")
    end = at + 2 + data[at + 1]
    if data[at + 1] == 126:
        end = at + 4 + int.from_bytes(data[at + 2 : at + 4])
    return end if end <= len(data) else None


def _content(frame: bytes) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(frame[frame.index(b"{") :])
    return content


def _upgraded(data: bytes) -> int | None:
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    if b" 101 " not in data[:20]:
        raise ValueError(f"refused: {data[:200]!r}")
    return end + 4


def _answer(kind: str, data: bytes) -> int | None:
    """It ends with the first frame of a type; only beats may be before it."""
    at = 0
    while (end := _end_of_frame(data, at)) is not None:
        found = _content(data[at:end])
        if found["type"] == kind:
            return end
        if found["type"] != "beat":
            raise ValueError(f"expected {kind}, found {found}")
        at = end
    return None
