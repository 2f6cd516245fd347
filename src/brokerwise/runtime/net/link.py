"""One end of an open WebSocket: what a server's and a client's have in common."""

import asyncio
from collections.abc import Callable

from brokerwise.runtime.net.incoming import Incoming


class Link(asyncio.Protocol):
    """Hands over whole text messages in order, and closes without losing any.

    Neither messages nor the end are ever told from inside a call of its methods, so
    whoever calls them may be in the middle of something.

    Attributes
    ----------
    write
        Writes bytes that are framed already: the transport's own method, with nothing
        in between. Once the link closes it drops what it is given, as nothing may
        follow a close; who has kept the method lets go of it then.
    is_open
        False once either end has begun to close.
    """

    __slots__ = (
        "_aborted",
        "_deliver",
        "_finished",
        "_incoming",
        "_lost",
        "_paused",
        "_transport",
        "is_open",
        "write",
    )

    write: Callable[[bytes], None]

    def __init__(
        self, transport: asyncio.Transport, incoming: Incoming, queue_bytes: int
    ) -> None:
        """Takes over a transport whose handshake is done. `queue_bytes` may wait to
        be sent before `pause_writing` is called."""
        transport.set_write_buffer_limits(high=queue_bytes)
        transport.set_protocol(self)
        self._transport = transport
        self._incoming = incoming
        self._deliver: Callable[[bytes], None] = _dropped
        self._paused = self._aborted = self._lost = self._finished = False
        self.write = transport.write
        self.is_open = True

    def close(self, code: int, reason: str = "") -> None:
        """Begin to close: messages that the other end sent before it heard of it are
        still handed over, until it closes too, has gone, or is out of time. Reading
        goes on if it was paused. Closing twice does nothing more.

        Raises ValueError for a code that may not be sent.
        """
        if not self.is_open:
            return
        frame = self._incoming.close(code, reason)
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
        self._incoming.feed(data)
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
        incoming = self._incoming
        deliver = self._deliver
        try:
            for text in incoming.texts():
                deliver(text)
                if self._paused or self._aborted:
                    break
        except BaseException:
            self.abort()
            raise
        if incoming.replies:
            self._reply()
        if incoming.ended is not None and not (self._aborted or self._finished):
            self._finished = True
            self._finish(incoming.ended.failed)

    def _reply(self) -> None:
        replies = b"".join(self._incoming.replies)
        self._incoming.replies.clear()
        if not self._transport.is_closing():
            self._transport.write(replies)

    def _finish(self, failed: bool) -> None:
        """The other end has said its last word, or one too many."""
        self.is_open = False
        self.write = _dropped
        self._over()
        if self._transport.is_closing():
            return
        self._expect_end()
        if failed and self._transport.can_write_eof():
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
    """What is written to a link that closes."""
