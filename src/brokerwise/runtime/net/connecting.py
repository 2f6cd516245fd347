"""The client's end of a WebSocket."""

import asyncio
import ssl as tls
from collections.abc import Callable
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidURI
from websockets.frames import CloseCode
from websockets.protocol import OPEN
from websockets.uri import WebSocketURI, parse_uri

from brokerwise.model.errors import InputError
from brokerwise.runtime.net.errors import (
    RefusedError,
    UnreachableError,
    UnreadableAnswerError,
)
from brokerwise.runtime.net.framing import Masker
from brokerwise.runtime.net.incoming import Incoming
from brokerwise.runtime.net.link import Link
from brokerwise.runtime.protocol.limits import (
    CLOSE_SECONDS,
    MAX_ANSWER_BYTES,
    MAX_HEAD_BYTES,
    REQUEST_SECONDS,
)

__all__ = [
    "Dialled",
    "RefusedError",
    "UnreachableError",
    "UnreadableAnswerError",
    "connect",
]

QUEUE_BYTES = 256 << 10  # that wait to be sent before `drained` waits
_END_OF_HEAD = b"\r\n\r\n"
_MAX_QUOTED = 200  # bytes of a refusal that are repeated in an error


class Dialled(Link):
    """A WebSocket that we opened."""

    __slots__ = ("_choked", "_masker", "_on_closed", "_timer", "_waiting")

    def __init__(
        self,
        transport: asyncio.Transport,
        on_text: Callable[[bytes], None],
        on_closed: Callable[[int, str], None],
        max_bytes: int,
    ) -> None:
        incoming = Incoming(masked=False, max_bytes=max_bytes)
        super().__init__(transport, incoming, QUEUE_BYTES)
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
        """As `Link.close`. What was sent before goes out first."""
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
        self._incoming.feed(data)
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
        ended = self._incoming.ended
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
) -> Dialled:
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
    dialled = Dialled(transport, on_text, on_closed, max_bytes)
    dialled.begin(data)
    return dialled


async def _dial(
    url: str, uri: WebSocketURI, ssl: tls.SSLContext | None, token: str
) -> tuple[asyncio.Transport, bytes]:
    """A transport whose handshake is done, paused, and what came after it."""
    context = (ssl or tls.create_default_context()) if uri.secure else None
    loop = asyncio.get_running_loop()
    handshake = ClientProtocol(uri)
    transport, greeting = await loop.create_connection(
        lambda: _Greeting(handshake, token),
        uri.host,
        uri.port,
        ssl=context,
        ssl_shutdown_timeout=CLOSE_SECONDS if context else None,
    )
    try:
        await greeting.head
        return transport, greeting.rest(url)
    except BaseException:
        transport.abort()
        raise


class _Greeting(asyncio.Protocol):
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
