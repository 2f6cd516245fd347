"""Text messages out of the bytes of a WebSocket. No I/O: bytes in, messages out.

Most of what comes is small text in one frame each, and is taken straight from the
buffer, which costs a quarter of what the library's parser does. Everything else goes
to the library, frame by frame: long and fragmented messages, pings, closes, and all
that breaks the rules. Its state machine is made when there is something for it to do
and dropped when that is done, so a silent connection holds none.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.protocol import OPEN, Protocol, Side

from brokerwise.runtime.net.framing import (
    EIGHT_BYTES,
    MASKED,
    TWO_BYTES,
    WHOLE_TEXT,
    apply_mask,
    closing,
)

_NOT_UTF_8 = "this text is not UTF-8"
_OPCODES = frozenset(Opcode)


@dataclass(frozen=True)
class Ended:
    """Nothing more is read: the other end closed with this code or, if it `failed`,
    broke a rule, for which this is the code."""

    code: int
    reason: str
    failed: bool


class Incoming:
    """One direction of a WebSocket, from its first frame.

    Attributes
    ----------
    replies
        Frames to send back, in order: pongs, and the close that answers a close or
        says what was wrong. Whoever sends them empties the list.
    ended
        None as long as more may come.
    """

    __slots__ = (
        "_at",
        "_data",
        "_joined",
        "_machine",
        "_mask",
        "_max_bytes",
        "_owed",
        "ended",
        "replies",
    )

    def __init__(self, *, masked: bool, max_bytes: int) -> None:
        """`masked` as frames from a client are; `max_bytes` of one message."""
        self._mask = MASKED if masked else 0
        self._max_bytes = max_bytes
        self._data = b""
        self._at = 0  # in _data, where the next frame begins
        self._owed = 0  # bytes of the current frame that the library has not had
        self._machine: Protocol | None = None
        self._joined: bytearray | None = None  # a fragmented message, so far
        self.replies: list[bytes] = []
        self.ended: Ended | None = None

    def feed(self, data: bytes) -> None:
        """Bytes came. After the end they are dropped."""
        if self.ended is not None:
            return
        rest = self._at < len(self._data)
        self._data = self._data[self._at :] + data if rest else data
        self._at = 0

    def texts(self) -> Iterator[bytes]:
        """The messages that are complete, each as soon as it is asked for.

        Stopping halfway keeps the rest for the next call.
        """
        while self.ended is None:
            if self._owed == 0 and self._joined is None:
                wait = yield from self._small()
                if wait:
                    break
            if not self._ask_library():
                break
            text = self._message()
            if text is not None:
                yield text
        # Else a silent connection would hold on to the last chunk that came.
        self._data, self._at = self._data[self._at :], 0

    def close(self, code: int, reason: str) -> bytes:
        """The frame that begins to close. What comes before the other end's close is
        still read. Raises ValueError for a code that may not be sent."""
        close = closing(code, reason)
        machine = self._library()
        machine.send_close(close.code, close.reason)
        return b"".join(machine.data_to_send())

    def _small(self) -> Generator[bytes, None, bool]:
        """Take text in whole small frames while there is some. Whether there is
        nothing for the library either, until more bytes come."""
        mask = self._mask
        before = 6 if mask else 2  # bytes before a text of less than 126
        data, at, limit = self._data, self._at, self._max_bytes
        have = len(data)
        while have - at >= 2:
            length = data[at + 1] - mask
            start = at + before
            if data[at] != WHOLE_TEXT or not 0 <= length < EIGHT_BYTES:
                return False
            if length == TWO_BYTES:
                if have - at < 4:
                    return True
                length = data[at + 2] << 8 | data[at + 3]
                start += 2
            end = start + length
            if end > have or length > limit:
                return length <= limit
            text = data[start:end]
            if mask:
                text = apply_mask(text, data[start - 4 : start])
            self._at = at = end
            if not (text.isascii() or _is_utf_8(text)):
                self._fail(CloseCode.INVALID_DATA, _NOT_UTF_8)
                return True
            yield text
        return True

    def _ask_library(self) -> int:
        """Give the library what there is of one frame; how many bytes it was."""
        if self._owed == 0:
            self._owed = _frame_bytes(self._data, self._at, self._mask)
        piece = self._data[self._at : self._at + self._owed]
        if piece:
            self._at += len(piece)
            self._owed -= len(piece)
            self._library().receive_data(piece)
        return len(piece)

    def _message(self) -> bytes | None:
        """The message that the frame completes, if any. Sees to replies and the end."""
        machine = self._library()
        text = None
        for frame in machine.events_received():
            if isinstance(frame, Frame):
                text = self._joining(frame)
        if text is not None and not (text.isascii() or _is_utf_8(text)):
            text = None
            self._fail(CloseCode.INVALID_DATA, _NOT_UTF_8)
        self._settle(machine)
        return text

    def _joining(self, frame: Frame) -> bytes | None:
        """The text that ends with this frame, if one does."""
        if frame.opcode is Opcode.BINARY:
            self._fail(CloseCode.UNSUPPORTED_DATA, "only text is understood")
        elif frame.opcode is Opcode.TEXT and frame.fin:
            return bytes(frame.data)
        elif frame.opcode is Opcode.TEXT:
            self._joined = bytearray(frame.data)
        elif frame.opcode is Opcode.CONT and self._joined is not None:
            self._joined += frame.data
            if frame.fin:
                text, self._joined = bytes(self._joined), None
                return text
        return None

    def _fail(self, code: CloseCode, reason: str) -> None:
        machine = self._library()
        machine.fail(code, reason)
        self._settle(machine)
        self.ended = Ended(code, reason, failed=True)
        self._drop()

    def _settle(self, machine: Protocol) -> None:
        """Take what the library wants sent, see whether it is the end, and let the
        library go if it has nothing left to remember."""
        self.replies += filter(None, machine.data_to_send())
        if self.ended is not None:
            return
        if machine.parser_exc is not None:
            sent = machine.close_sent or Close(CloseCode.PROTOCOL_ERROR, "")
            self.ended = Ended(sent.code, sent.reason, failed=True)
        elif machine.close_rcvd is not None:
            close = machine.close_rcvd
            self.ended = Ended(close.code, close.reason, failed=False)
        elif self._joined is None and self._owed == 0 and machine.state is OPEN:
            self._machine = None
        if self.ended is not None:
            self._drop()

    def _drop(self) -> None:
        self._data, self._at, self._joined, self._machine = b"", 0, None, None

    def _library(self) -> Protocol:
        if self._machine is None:
            side = Side.SERVER if self._mask else Side.CLIENT
            self._machine = Protocol(side, max_size=self._max_bytes)
        return self._machine


def _frame_bytes(data: bytes, at: int, mask: int) -> int:
    """How long the frame is that begins there; 0 if that cannot be seen yet."""
    if len(data) - at < 2:
        return 0
    length = data[at + 1] & ~MASKED
    if data[at + 1] & MASKED != mask or data[at] & 0x0F not in _OPCODES:
        return 2  # no need to see more: the library refuses it
    head = 6 if mask else 2
    more = {TWO_BYTES: 2, EIGHT_BYTES: 8}.get(length, 0)
    if not more:
        return head + length
    if len(data) - at < 2 + more:
        return 0
    return head + more + int.from_bytes(data[at + 2 : at + 2 + more])


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
