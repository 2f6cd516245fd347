"""What the raw client says and hears, protocol by protocol: bytes, and no sockets."""

from collections.abc import Callable
from typing import Protocol

PAYLOAD_BYTES = 200
TOPIC = "fanout"
INDEX_DIGITS = 10

# What to send, and a function that gives the length of the answer at the beginning of
# what has come, or None while it is not complete.
Exchange = tuple[bytes, Callable[[bytes], int | None]]


class Speech(Protocol):
    """One protocol. Messages are counted from 0 and all as long as each other, so that
    a subscriber counts them by bytes.

    Attributes
    ----------
    message_bytes
        Of a message on its way to a subscriber, with all that is around it.
    acknowledges_each
        Whether each message has an acknowledgement of its own; else one is due after
        `acknowledge_every` of them, 0 for never.
    """

    message_bytes: int
    acknowledges_each: bool
    acknowledge_every: int

    def subscriber_greeting(self, number: int) -> tuple[Exchange, ...]:
        """Until a subscriber is served."""

    def publisher_greeting(self) -> tuple[Exchange, ...]:
        """Until a publisher can publish."""

    def publication(self, index: int) -> bytes:
        """A message on its way to the broker."""

    def publisher_hears(self, data: bytes) -> None:
        """Something has come for the publisher, as whole frames or not."""

    def complete(self, data: bytes) -> tuple[int, int]:
        """How many messages are complete in what a subscriber has got since the last
        complete one, and where they end."""

    def acknowledgement(self, data: memoryview, messages: int, received: int) -> bytes:
        """Of these messages, the last ones of `received` in all on a connection."""

    def index_of(self, data: bytes) -> int:
        """Which message begins these bytes."""


def payload(index: int) -> bytes:
    """Text that stands for a message, as long as PAYLOAD_BYTES with two quotes."""
    return b"%0*d" % (INDEX_DIGITS, index) + b"x" * (PAYLOAD_BYTES - INDEX_DIGITS - 2)


def index_in(data: bytes) -> int:
    """The number of the message whose payload begins in these bytes."""
    end = data.index(b"xxxx")
    return int(data[end - INDEX_DIGITS : end])
