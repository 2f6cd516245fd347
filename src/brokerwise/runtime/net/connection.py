"""One WebSocket connection: its frames, how it closes, and the client's end of it.

Three layers, each of which can be read alone: frames (bytes to and from text, no I/O);
`WebSocket`, what both ends have in common; `connect`, the end that dials. The end that
listens is in `server`.
"""

import asyncio
import logging
import os
import ssl as tls
import struct
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidURI, ProtocolError
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.protocol import OPEN, Protocol, Side
from websockets.uri import WebSocketURI, parse_uri

from brokerwise.model.errors import InputError
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.process.logs import limited
from brokerwise.runtime.protocol.limits import (
    CLOSE_SECONDS,
    MAX_ANSWER_BYTES,
    MAX_HEAD_BYTES,
    REQUEST_SECONDS,
)

try:
    from websockets.speedups import apply_mask
except ImportError:  # pragma: no cover: a platform without the compiled part
    from websockets.utils import apply_mask

log = logging.getLogger(__name__)

QUEUE_BYTES = 256 << 10  # that wait to be sent before `drained` waits

_WHOLE_TEXT = 0x81  # the first byte of a text message in one frame
_MASKED = 0x80  # a bit of the second byte
_TWO_BYTES, _EIGHT_BYTES = 126, 127  # lengths that say where the length is
MAX_REASON_BYTES = 123  # of a close frame
_OPCODES = frozenset(Opcode)
_NOT_UTF_8 = "this text is not UTF-8"
_KEY_BYTES = 4
_KEYS_AT_ONCE = 1_024
_END_OF_HEAD = b"\r\n\r\n"
_MAX_QUOTED = 200  # bytes of a refusal that are repeated in an error


# Frames: text to bytes and back. No I/O


def frame_text(text: bytes) -> bytes:
    """One unmasked text frame, as a server sends it."""
    return _head(len(text), 0) + text


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
    return _head(len(text), _MASKED) + key + apply_mask(text, key)


def _head(length: int, masked: int) -> bytes:
    if length < _TWO_BYTES:
        return bytes((_WHOLE_TEXT, masked | length))
    if length < 1 << 16:
        return struct.pack("!BBH", _WHOLE_TEXT, masked | _TWO_BYTES, length)
    return struct.pack("!BBQ", _WHOLE_TEXT, masked | _EIGHT_BYTES, length)


@dataclass(frozen=True)
class End:
    """Nothing more is read: the other end closed with this code or, if it `failed`,
    broke a rule, for which this is the code."""

    code: int
    reason: str
    failed: bool


class FrameReader:
    """Text messages out of the bytes of a WebSocket, from its first frame.

    Most of what comes is small text in one frame each, and is taken straight from the
    buffer, which costs a quarter of what the library's parser does. Everything else
    goes to the library, frame by frame: long and fragmented messages, pings, closes,
    and all that breaks the rules. Its state machine is made when there is something
    for it to do and dropped when that is done, so a silent connection holds none.

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
        self._mask = _MASKED if masked else 0
        self._max_bytes = max_bytes
        self._data = b""
        self._at = 0  # in _data, where the next frame begins
        self._owed = 0  # bytes of the current frame that the library has not had
        self._machine: Protocol | None = None
        self._joined: bytearray | None = None  # a fragmented message, so far
        self.replies: list[bytes] = []
        self.ended: End | None = None

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
        close = make_close(code, reason)
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
            if data[at] != _WHOLE_TEXT or not 0 <= length < _EIGHT_BYTES:
                return False
            if length == _TWO_BYTES:
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
        self.ended = End(code, reason, failed=True)
        self._drop()

    def _settle(self, machine: Protocol) -> None:
        """Take what the library wants sent, see whether it is the end, and let the
        library go if it has nothing left to remember."""
        self.replies += filter(None, machine.data_to_send())
        if self.ended is not None:
            return
        if machine.parser_exc is not None:
            sent = machine.close_sent or Close(CloseCode.PROTOCOL_ERROR, "")
            self.ended = End(sent.code, sent.reason, failed=True)
        elif machine.close_rcvd is not None:
            close = machine.close_rcvd
            self.ended = End(close.code, close.reason, failed=False)
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


def make_close(code: int, reason: str) -> Close:
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


def _frame_bytes(data: bytes, at: int, mask: int) -> int:
    """How long the frame is that begins there; 0 if that cannot be seen yet."""
    if len(data) - at < 2:
        return 0
    length = data[at + 1] & ~_MASKED
    if data[at + 1] & _MASKED != mask or data[at] & 0x0F not in _OPCODES:
        return 2  # no need to see more: the library refuses it
    head = 6 if mask else 2
    more = {_TWO_BYTES: 2, _EIGHT_BYTES: 8}.get(length, 0)
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


# An open connection


class WebSocket(asyncio.Protocol):
    """One end of an open WebSocket, a server's or a client's: hands over whole text
    messages in order, and closes without losing any.

    Neither messages nor the end are ever told from inside a call of its methods, so
    whoever calls them may be in the middle of something.

    Attributes
    ----------
    write
        Writes bytes that are framed already: the transport's own method, with nothing
        in between. Once the connection closes it drops what it is given, as nothing may
        follow a close; who has kept the method lets go of it then.
    is_open
        False once either end has begun to close.
    peer
        Address and port of the other end.
    """

    __slots__ = (
        "_aborted",
        "_deliver",
        "_finished",
        "_lost",
        "_paused",
        "_reader",
        "_transport",
        "is_open",
        "peer",
        "write",
    )

    write: Callable[[bytes], None]

    def __init__(
        self, transport: asyncio.Transport, reader: FrameReader, queue_bytes: int
    ) -> None:
        """Takes over a transport whose handshake is done. `queue_bytes` may wait to
        be sent before `pause_writing` is called."""
        transport.set_write_buffer_limits(high=queue_bytes)
        transport.set_protocol(self)
        self._transport = transport
        self._reader = reader
        self._deliver: Callable[[bytes], None] = _dropped
        self._paused = self._aborted = self._lost = self._finished = False
        self.write = transport.write
        self.is_open = True
        self.peer = peer_of(transport)

    def close(self, code: int, reason: str = "") -> None:
        """Begin to close: messages that the other end sent before it heard of it are
        still handed over, until it closes too, has gone, or is out of time. Reading
        goes on if it was paused. Closing twice does nothing more.

        Raises ValueError for a code that may not be sent.
        """
        if not self.is_open:
            return
        frame = self._reader.close(code, reason)
        self.is_open = False
        self.write = _dropped
        self._transport.write(frame)
        self._expect_end()
        self.resume_reading()

    def abort(self) -> None:
        """Cut it off at once: what has not been sent or handed over is lost."""
        self._aborted = True
        self.is_open = False
        self.write = _dropped
        self._transport.abort()

    def pause_reading(self) -> None:
        """Hand over nothing more, and read no more than one chunk ahead. Does nothing
        once the connection has gone."""
        if not (self._paused or self._lost):
            self._paused = True
            if not self._transport.is_closing():
                self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on with what was read before and then with what comes."""
        if self._paused:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()
            # Not here and now: the caller may be in the middle of something.
            asyncio.get_running_loop().call_soon(self._hand_over)

    def buffered(self) -> int:
        """Bytes that wait to be sent."""
        return 0 if self._lost else self._transport.get_write_buffer_size()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        self._hand_over()

    def eof_received(self) -> None:
        # The transport closes now, once all is sent; a reader who has stopped
        # reading must not keep it for ever.
        self._expect_end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Whatever has come is handed over, even while paused: it is not more than
        a chunk, and nobody could send it again."""
        self._lost = True
        self._paused = False
        self.is_open = False
        self.write = _dropped
        try:
            self._hand_over()
        finally:
            self._deliver = _dropped
            self._ended()

    def _hand_over(self) -> None:
        if self._paused or self._aborted:
            return
        reader = self._reader
        deliver = self._deliver
        try:
            for text in reader.texts():
                deliver(text)
                if self._paused or self._aborted:
                    break
        except BaseException:
            self.abort()
            raise
        if reader.replies:
            self._reply()
        if reader.ended is not None and not (self._aborted or self._finished):
            self._finished = True
            self._finish(reader.ended)

    def _reply(self) -> None:
        replies = b"".join(self._reader.replies)
        self._reader.replies.clear()
        if not self._transport.is_closing():
            self._transport.write(replies)

    def _finish(self, end: End) -> None:
        """The other end has said its last word, or one too many."""
        if end.failed:
            limited(log, "rule").info(
                "connection with %s closed, as it broke a rule: %s (%d)",
                self.peer,
                end.reason,
                end.code,
            )
        self.is_open = False
        self.write = _dropped
        self._over()
        if self._transport.is_closing():
            return
        self._expect_end()
        if end.failed and self._transport.can_write_eof():
            # It may be sending still. To close with bytes unread would reset the
            # connection, and the reason would be lost on its way.
            self._transport.write_eof()
        else:
            self._hang_up()

    def _hang_up(self) -> None:
        """Both ends have said that they close."""
        self._transport.close()

    def _over(self) -> None:
        """Nothing more will be handed over, though the connection may be there still.
        Not called if it is cut off."""

    def _expect_end(self) -> None:
        """From now on the other end has CLOSE_SECONDS until it is cut off."""
        raise NotImplementedError

    def _ended(self) -> None:
        """The connection has gone. Called once."""
        raise NotImplementedError


def _dropped(framed: bytes) -> None:
    """What is written to a connection that closes."""


def peer_of(transport: asyncio.BaseTransport) -> str:
    """Address and port of the other end."""
    name = transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if name else ""


# The end that dials


class ClientConnection(WebSocket):
    """A WebSocket that we opened."""

    __slots__ = ("_choked", "_masker", "_on_closed", "_timer", "_waiting")

    def __init__(
        self,
        transport: asyncio.Transport,
        on_text: Callable[[bytes], None],
        on_closed: Callable[[int, str], None],
        max_bytes: int,
    ) -> None:
        reader = FrameReader(masked=False, max_bytes=max_bytes)
        super().__init__(transport, reader, QUEUE_BYTES)
        self._deliver = on_text
        self._on_closed = on_closed
        self._masker = Masker()
        self._choked = False
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    def send(self, text: bytes) -> None:
        """Send one text message. Dropped once either end has begun to close."""
        self.write(self._masker.frame_text(text))

    def close(self, code: int = CloseCode.NORMAL_CLOSURE, reason: str = "") -> None:
        """As `WebSocket.close`. What was sent before goes out first."""
        super().close(code, reason)

    async def drained(self) -> None:
        """Wait until little enough waits to be sent, or the connection has gone.

        Cancelling it loses nothing.
        """
        if self._choked and not self._lost:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    def begin(self, data: bytes) -> None:
        """Start to hand over: what came right after the handshake, then the rest."""
        self._paused = True
        self._reader.feed(data)
        self.resume_reading()

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _hang_up(self) -> None:
        """Nothing to do: the server closes first, so that its port is free at once of
        connections that linger."""

    def _expect_end(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(CLOSE_SECONDS, self.abort)

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.resume_writing()
        ended = self._reader.ended
        if ended is None:
            self._on_closed(CloseCode.ABNORMAL_CLOSURE, "")
        else:
            self._on_closed(ended.code, ended.reason)


async def connect(
    url: str,
    *,
    on_text: Callable[[bytes], None],
    on_closed: Callable[[int, str], None],
    ssl: tls.SSLContext | None = None,
    token: str = "",
    seconds: float = REQUEST_SECONDS,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> ClientConnection:
    """Open a WebSocket to ws:// or wss://; `ssl` says whom to trust. A `token` is
    shown with the handshake already: by a broker's, a full server knows its own.

    Once it has returned, `on_text` is given each whole message, and `on_closed`, once,
    the code and reason with which the other end closed; 1006 if it vanished. If either
    raises, the connection is cut off and the event loop's handler is told.

    Raises UnreachableError if there is no connection after `seconds`, RefusedError if
    an HTTP status was the answer, InputError for a bad address. Cancelling it leaves
    nothing open.
    """
    try:
        uri = parse_uri(url)
    except (InvalidURI, ValueError) as cause:
        raise InputError(f"{url!r} is no address of a WebSocket: {cause}") from cause
    try:
        async with asyncio.timeout(seconds):
            transport, data = await _dial(url, uri, ssl, token)
    except TimeoutError as cause:
        reason = f"no connection within {seconds:g} s"
        raise UnreachableError(url, reason) from cause
    except OSError as cause:
        raise UnreachableError(url, str(cause)) from cause
    connection = ClientConnection(transport, on_text, on_closed, max_bytes)
    connection.begin(data)
    return connection


async def _dial(
    url: str, uri: WebSocketURI, ssl: tls.SSLContext | None, token: str
) -> tuple[asyncio.Transport, bytes]:
    """A transport whose handshake is done, paused, and what came after it."""
    context = (ssl or tls.create_default_context()) if uri.secure else None
    loop = asyncio.get_running_loop()
    handshake = ClientProtocol(uri)
    transport, asking = await loop.create_connection(
        lambda: _Handshake(handshake, token),
        uri.host,
        uri.port,
        ssl=context,
        ssl_shutdown_timeout=CLOSE_SECONDS if context else None,
    )
    try:
        await asking.head
        return transport, asking.rest(url)
    except BaseException:
        transport.abort()
        raise


class _Handshake(asyncio.Protocol):
    """Asks for a WebSocket and waits for the head of the answer."""

    def __init__(self, handshake: ClientProtocol, token: str) -> None:
        self._handshake, self._token = handshake, token
        self._data = bytearray()
        self.head: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        request = self._handshake.connect()
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        self._handshake.send_request(request)
        for data in self._handshake.data_to_send():
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._data += data
        whole = _END_OF_HEAD in self._data or len(self._data) > MAX_HEAD_BYTES
        if whole and not self.head.done():
            self._transport.pause_reading()
            self.head.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.head.done():
            why = exc or "it hung up during the handshake"
            self.head.set_exception(ConnectionError(str(why)))

    def rest(self, url: str) -> bytes:
        """What followed the head. Raises if it does not open a WebSocket."""
        if self._transport.is_closing():
            raise ConnectionError("it hung up after the handshake")
        head, _, rest = bytes(self._data).partition(_END_OF_HEAD)
        status = _status(head)
        if status != 101:
            if not status:
                raise UnreadableAnswerError(url, "the answer is not HTTP")
            text = rest[:_MAX_QUOTED].decode(errors="replace").strip()
            raise RefusedError(status, text or "no reason given", url)
        self._handshake.receive_data(head + _END_OF_HEAD)
        if self._handshake.state is not OPEN:
            wrong = str(self._handshake.handshake_exc)
            raise UnreadableAnswerError(url, wrong) from self._handshake.handshake_exc
        return rest


def _status(head: bytes) -> int:
    """The status of a response; 0 if this does not look like one."""
    version, _, following = head.partition(b" ")
    digits = following[:3]
    return int(digits) if version.startswith(b"HTTP/1.") and digits.isdigit() else 0
