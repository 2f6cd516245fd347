"""MQTT 3.1.1: what a subscriber and a publisher of one topic need of it."""

import struct
from functools import partial

from benchmarks.raw_client.speech import (
    PAYLOAD_BYTES,
    TOPIC,
    Exchange,
    index_in,
    payload,
)

_CONNECT, _PUBLISH, _SUBSCRIBE = 0x10, 0x30, 0x82
_PUBACK = b"\x40\x02"  # and the identifier of the message
_CLEAN_SESSION = 2


class Mqtt:
    """At quality of service 0, or 1: each message is acknowledged, by subscribers and
    to the publisher."""

    def __init__(self, quality: int) -> None:
        self.acknowledges_each = quality == 1
        self.acknowledge_every = 0
        self._quality = quality
        self._topic = _text(TOPIC)
        self._identifier_at = 3 + len(self._topic)
        self.message_bytes = len(self.publication(0))

    def subscriber_greeting(self, number: int) -> tuple[Exchange, ...]:
        subscribe = struct.pack(">H", 1) + self._topic + bytes([self._quality])
        return (
            (_connect(f"subscriber{number}"), partial(_answer, 4)),
            (_packet(_SUBSCRIBE, subscribe), partial(_answer, 5)),
        )

    def publisher_greeting(self) -> tuple[Exchange, ...]:
        return ((_connect("publisher"), partial(_answer, 4)),)

    def publication(self, index: int) -> bytes:
        # The quotes are for nobody here: JSON has them, and sizes are to be the same.
        content = b'"' + payload(index) + b'"'
        assert len(content) == PAYLOAD_BYTES
        identifier = b""
        if self._quality:
            identifier = struct.pack(">H", index % 65535 + 1)
        kind = _PUBLISH | self._quality << 1
        return _packet(kind, self._topic + identifier + content)

    def publisher_hears(self, data: bytes) -> None:
        """Its messages were taken in; whoever has subscribed tells us more."""

    def complete(self, data: bytes) -> tuple[int, int]:
        messages = len(data) // self.message_bytes
        if any(byte & 0xF0 != _PUBLISH for byte in data[:: self.message_bytes]):
            raise ValueError(f"not a message: {data[:20]!r}")
        return messages, messages * self.message_bytes

    def acknowledgement(self, data: memoryview, messages: int, received: int) -> bytes:
        size, at = self.message_bytes, self._identifier_at
        if messages == 1:
            return _PUBACK + data[at : at + 2]
        return b"".join(
            [_PUBACK + data[i : i + 2] for i in range(at, messages * size, size)]
        )

    def index_of(self, data: bytes) -> int:
        return index_in(data)


def _packet(kind: int, body: bytes) -> bytes:
    left, length = len(body), bytearray()
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    length.append(left)
    return bytes([kind]) + bytes(length) + body


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _connect(name: str) -> bytes:
    forever = struct.pack(">H", 0)
    head = _text("MQTT") + bytes([4, _CLEAN_SESSION])
    return _packet(_CONNECT, head + forever + _text(name))


def _answer(length: int, data: bytes) -> int | None:
    """Of a fixed length; its last byte says whether all is well."""
    if len(data) < length:
        return None
    if data[length - 1] > 1:
        raise ValueError(f"refused: {data[:length]!r}")
    return length
