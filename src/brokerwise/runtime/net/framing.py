"""WebSocket frames as bytes: text to send, and what unmasks text that came."""

import os
import struct

from websockets.exceptions import ProtocolError
from websockets.frames import Close

try:
    from websockets.speedups import apply_mask
except ImportError:  # pragma: no cover: a platform without the compiled part
    from websockets.utils import apply_mask

WHOLE_TEXT = 0x81  # the first byte of a text message in one frame
MASKED = 0x80  # a bit of the second byte
TWO_BYTES, EIGHT_BYTES = 126, 127  # lengths that say where the length is
MAX_REASON_BYTES = 123  # of a close frame

_KEY_BYTES = 4
_KEYS_AT_ONCE = 1_024

__all__ = ["apply_mask", "closing", "frame_text", "mask_text"]


def frame_text(text: bytes) -> bytes:
    """One unmasked text frame, as a server sends it."""
    return _head(len(text), 0) + text


def closing(code: int, reason: str) -> Close:
    """What a close frame says; a reason that is too long for it is cut.

    Raises ValueError for a code that may not be sent.
    """
    fitting = reason.encode(errors="replace")[:MAX_REASON_BYTES]
    close = Close(code, fitting.decode(errors="ignore"))
    try:
        close.check()
    except ProtocolError as cause:
        raise ValueError(f"{code} is no close code that can be sent") from cause
    return close


class Masker:
    """Masks text as a client must: with keys that nobody can foresee.

    Keys are drawn by the thousand, as each call of the system costs more than the
    masking of a small message.
    """

    __slots__ = ("_at", "_keys")

    def __init__(self) -> None:
        self._keys = b""
        self._at = 0

    def frame_text(self, text: bytes) -> bytes:
        """One masked text frame."""
        at = self._at
        if at == len(self._keys):
            self._keys = os.urandom(_KEY_BYTES * _KEYS_AT_ONCE)
            at = 0
        self._at = at + _KEY_BYTES
        return mask_text(text, self._keys[at : at + _KEY_BYTES])


def mask_text(text: bytes, key: bytes) -> bytes:
    """One text frame, masked with this key of four bytes."""
    return _head(len(text), MASKED) + key + apply_mask(text, key)


def _head(length: int, masked: int) -> bytes:
    if length < TWO_BYTES:
        return bytes((WHOLE_TEXT, masked | length))
    if length < 1 << 16:
        return struct.pack("!BBH", WHOLE_TEXT, masked | TWO_BYTES, length)
    return struct.pack("!BBQ", WHOLE_TEXT, masked | EIGHT_BYTES, length)
