"""Subscribers by the thousand in one process, and the publisher that feeds them.

Sockets are read when epoll says so, into one buffer, and what comes is counted by its
length: a message costs a subscriber little more than the system call.
"""

import select
import socket
import time
from collections.abc import Callable

from benchmarks.raw_client.connecting import Address, connected
from benchmarks.raw_client.speech import Speech

_BUFFER_BYTES = 1 << 18
_SAMPLED = 16
_ACKNOWLEDGE_SECONDS = 0.2


class WrongDeliveryError(Exception):
    """A subscriber did not get what was published, all of it, once and in order."""


class Crowd:
    """Connected subscribers of one topic. Close it after use.

    `latencies`, if it is a list, gets the seconds from `sent_at` of each message to
    its arrival, for every subscriber.
    """

    def __init__(self, speech: Speech, address: Address, subscribers: int) -> None:
        greetings = [speech.subscriber_greeting(i) for i in range(subscribers)]
        self.latencies: list[float] | None = None
        self.sent_at: list[float] = []
        self.published = 0
        self._speech = speech
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._receive: dict[int, Callable[[bytearray], int]] = {}
        self._received: dict[int, int] = {}
        self._acknowledged: dict[int, int] = {}
        self._acknowledged_all_at = time.perf_counter()
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._beyond: dict[int, bytes] = {}  # by connection: what is not complete
        self._unsent = b""
        ((self._publisher, beyond),) = connected(address, [speech.publisher_greeting()])
        self._enter(self._publisher)
        self._beyond[self._publisher.fileno()] = b""
        speech.publisher_hears(beyond)
        for its, beyond in connected(address, greetings):
            self._enter(its)
            self._received[its.fileno()] = self._acknowledged[its.fileno()] = 0
            if beyond:
                self._beyond[its.fileno()] = beyond
        everyone = list(self._received)
        self._witness = everyone[len(everyone) // 2]
        step = max(1, len(everyone) // _SAMPLED)
        self._sample = [*everyone[::step], everyone[-1]]

    def _enter(self, its: socket.socket) -> None:
        its.setblocking(False)
        self._sockets[its.fileno()] = its
        self._receive[its.fileno()] = its.recv_into
        self._poll.register(its.fileno(), select.EPOLLIN)

    def close(self) -> None:
        self._poll.close()
        for its in self._sockets.values():
            its.close()

    def publish(self, messages: int) -> None:
        """So many more, together."""
        start = self.published
        self.published += messages
        self.sent_at += [time.perf_counter()] * messages
        more = map(self._speech.publication, range(start, self.published))
        self._unsent += b"".join(more)
        self._send()

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[self._publisher.send(self._unsent) :]
        except BlockingIOError:
            return

    def slowest(self) -> int:
        """The fewest messages that any of some subscribers has got."""
        received = self._received
        return min([received[its] for its in self._sample])

    def wait_for_all(self, seconds: float) -> None:
        """Until everyone has got all messages, and nobody more."""
        deadline = time.perf_counter() + seconds
        while min(self._received.values()) < self.published:
            self.turn(0.05)
            if time.perf_counter() > deadline:
                break
        self._acknowledge_all()
        counts = set(self._received.values())
        if counts != {self.published}:
            raise WrongDeliveryError(
                f"{self.published} messages were published; subscribers have got "
                f"{min(counts)} to {max(counts)}"
            )

    def turn(self, seconds: float) -> None:
        """Hear whoever has something to say, once; wait so long for the first."""
        if self._unsent:
            self._send()
        size = self._speech.message_bytes
        each, every = self._speech.acknowledges_each, self._speech.acknowledge_every
        buffer, view = self._buffer, self._view
        beyond, received, receive = self._beyond, self._received, self._receive
        for its, _ in self._poll.poll(seconds):
            length = receive[its](buffer)
            if length % size or not length or its in beyond or its == self._witness:
                self._hear_closely(its, length)
                continue
            messages = length // size
            if self.latencies is not None:
                self._time(its, messages)
            received[its] += messages
            owing = received[its] - self._acknowledged[its]
            if each or (every and owing >= every):
                self._acknowledge(its, view, messages)
        if every and time.perf_counter() > self._acknowledged_all_at:
            self._acknowledge_all()

    def _hear_closely(self, its: int, length: int) -> None:
        """What is not whole messages, or is for the publisher or the witness."""
        if not length:
            raise ConnectionError("hung up on")
        data = bytes(self._view[:length])
        if its == self._publisher.fileno():
            self._speech.publisher_hears(data)
            return
        data = self._beyond.pop(its, b"") + data
        messages, end = self._speech.complete(data)
        if end < len(data):
            self._beyond[its] = data[end:]
        if not messages:
            return
        if its == self._witness and end == messages * self._speech.message_bytes:
            self._check(data, messages)
        if self.latencies is not None:
            self._time(its, messages)
        self._received[its] += messages
        if self._speech.acknowledges_each:
            self._acknowledge(its, memoryview(data), messages)

    def _check(self, data: bytes, messages: int) -> None:
        """The witness looks at what it gets."""
        size, first = self._speech.message_bytes, self._received[self._witness]
        for i in range(messages):
            found = self._speech.index_of(data[i * size : (i + 1) * size])
            if found != first + i:
                raise WrongDeliveryError(f"message {found} came after {first + i - 1}")

    def _time(self, its: int, messages: int) -> None:
        assert self.latencies is not None
        now, first = time.perf_counter(), self._received[its]
        self.latencies += [now - at for at in self.sent_at[first : first + messages]]

    def _acknowledge(self, its: int, data: memoryview, messages: int) -> None:
        received = self._acknowledged[its] = self._received[its]
        text = self._speech.acknowledgement(data, messages, received)
        if self._sockets[its].send(text) < len(text):
            raise ConnectionError("cannot acknowledge: the broker does not listen")

    def _acknowledge_all(self) -> None:
        if self._speech.acknowledge_every:
            for its, received in self._received.items():
                if received > self._acknowledged[its]:
                    self._acknowledge(its, self._view, 0)
        self._acknowledged_all_at = time.perf_counter() + _ACKNOWLEDGE_SECONDS
