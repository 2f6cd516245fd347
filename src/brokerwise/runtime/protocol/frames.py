"""The frames between a client, or another broker, and a broker: JSON text.

Each is an object whose `type` is the name of its class in lower case; what is not
given has the default of its field, and fields that are not known are ignored, so
that either side may be newer. docs/protocol.md says what each one means.
"""

from collections.abc import Iterable
from typing import Annotated, TypeVar

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.protocol.fields import Count, Name
from brokerwise.runtime.protocol.limits import (
    MAX_CURSORS_PER_FRAME,
    MAX_NAME_BYTES,
    MAX_REASON_LENGTH,
    MAX_SEQ,
    MAX_TOKEN_LENGTH,
    MAX_TOPICS_PER_FRAME,
    VERSION,
)
from brokerwise.runtime.protocol.names import refusal

Seq = Annotated[int, msgspec.Meta(ge=1, le=MAX_SEQ)]
Topics = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_TOPICS_PER_FRAME)]
Cursor = tuple[Name, Name, Count, Count]  # topic, source, epoch, seq
Cursors = Annotated[tuple[Cursor, ...], msgspec.Meta(max_length=MAX_CURSORS_PER_FRAME)]
NOTHING = msgspec.Raw(b"null")
_MOST_SHOWN = 100  # characters of an error
T = TypeVar("T")


class FrameError(BrokerwiseError, ValueError):
    """A frame that is none of ours; whoever sent it is told and hung up on."""


class Frame(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """Any frame."""


class Login(Frame, frozen=True, tag="login"):
    """The first frame of a connection. A peer names its broker in `user`.

    `source` is the name that its messages carry: the user, or the user, a slash and
    more. Of several clients of one user that publish, each needs a source of its own.
    """

    user: Name
    token: Annotated[str, msgspec.Meta(max_length=MAX_TOKEN_LENGTH)]
    source: Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES)] = ""
    version: Count = VERSION

    def __post_init__(self) -> None:
        _check_names("user", (self.user,))
        _check_names("source", (self.source,) if self.source else ())


class Subscribe(Frame, frozen=True, tag="subscribe"):
    """Ask for topics, or (on an overlay) for all content in a box of ranges.

    `id` comes back in the answer. `cursors` say what the subscriber has seen already.
    Of a channel whose results it gives no cursor for it gets those since it was last
    there, or, if it asks for the `latest`, from now on. A frame asks for channels or
    for other topics, not for both.
    """

    id: Count = 0
    topics: Topics = ()
    ranges: dict[Name, tuple[float, float]] = {}
    cursors: Cursors = ()
    latest: bool = False

    def __post_init__(self) -> None:
        _check_names("topics", self.topics)
        _check_names("ranges", self.ranges)
        _check_cursors(self.cursors)


class Unsubscribe(Frame, frozen=True, tag="unsubscribe"):
    """Want topics no more; `elsewhere`: no more from this broker, as another serves
    them, so that subscriptions to channels stay."""

    id: Count = 0
    topics: Topics = ()
    elsewhere: bool = False

    def __post_init__(self) -> None:
        _check_names("topics", self.topics)


class Ack(Frame, frozen=True, tag="ack"):
    """`count` messages have been received on this connection, since it began; the
    last one of each topic and source is at its cursor (of those that changed)."""

    count: Count
    cursors: Cursors = ()

    def __post_init__(self) -> None:
        _check_cursors(self.cursors)


class Publish(Frame, frozen=True, tag="publish"):
    """A message; its source is that of the login. `generation` is that of the route
    that it was sent by, 0 if the publisher knows none. `at` is milliseconds since
    1970, by the source's clock, 0 if it does not say."""

    topic: Name
    epoch: Count
    seq: Seq
    data: msgspec.Raw = NOTHING
    generation: Count = 0
    at: float = 0.0

    def __post_init__(self) -> None:
        refused = refusal(self.topic)  # without a further call: this one is hot
        if refused:
            raise FrameError(f"topic: {refused}")


class Accept(Frame, frozen=True, tag="accept"):
    move: Count


class Decline(Frame, frozen=True, tag="decline"):
    move: Count
    reason: Annotated[str, msgspec.Meta(max_length=MAX_REASON_LENGTH)] = ""


class Moved(Frame, frozen=True, tag="moved"):
    """The client has all that it needs from its new broker."""

    move: Count


class Logout(Frame, frozen=True, tag="logout"):
    pass


class Forward(Frame, frozen=True, tag="forward"):
    """A message from another broker. `origin` is the broker that it entered an
    overlay by; empty: it is passed on because its publisher's route was old, to the
    brokers of the route of this `generation`."""

    topic: Name
    source: Name
    epoch: Count
    seq: Seq
    data: msgspec.Raw = NOTHING
    at: float = 0.0
    origin: Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES)] = ""
    generation: Count = 0

    def __post_init__(self) -> None:
        _check_names("topic", (self.topic,))
        _check_names("source", (self.source,))
        _check_names("origin", (self.origin,) if self.origin else ())


class Welcome(Frame, frozen=True, tag="welcome"):
    """The answer to a login: who this is, and what it asks of the client."""

    broker: str
    epoch: int
    version: int
    beat_seconds: float
    silence_seconds: float
    ack_every: int
    ack_seconds: float
    publish_window: int
    max_frame_bytes: int


class Subscribed(Frame, frozen=True, tag="subscribed"):
    """These topics are served from now on: every message after `cursors`, which are
    those of the last message that the broker has delivered, by topic and source."""

    id: int
    topics: tuple[str, ...]
    cursors: tuple[tuple[str, str, int, int], ...] = ()


class Unsubscribed(Frame, frozen=True, tag="unsubscribed"):
    id: int
    topics: tuple[str, ...]


class Message(Frame, frozen=True, tag="message", omit_defaults=True):
    """A message as its source sent it. One that the topic's processing step has
    `skipped` has no data: it is there so that nobody misses it."""

    topic: str
    source: str
    epoch: int
    seq: int
    data: msgspec.Raw = NOTHING
    at: float = 0.0
    skipped: bool = False


class Beat(Frame, frozen=True, tag="beat"):
    """Sent when there was nothing else to send: the broker lives."""


class Published(Frame, frozen=True, tag="published"):
    """`count` messages have been taken in on this connection, since it began."""

    count: int


class StaleRoute(Frame, frozen=True, tag="stale_route"):
    """The message was passed on; send the next ones to these brokers (name, url)."""

    topic: str
    generation: int
    brokers: tuple[tuple[str, str], ...]


class RequestToMove(Frame, frozen=True, tag="request_to_move"):
    """Would the client move to this broker, with these topics (empty: all that it has
    here)? It answers accept or decline."""

    move: int
    broker: str
    url: str
    topics: tuple[str, ...] = ()


class Connect(Frame, frozen=True, tag="connect"):
    """Move now: log in there, subscribe, and say `moved` here once caught up."""

    move: int
    broker: str
    url: str
    topics: tuple[str, ...] = ()


class Problem(Frame, frozen=True, tag="problem"):
    """Something that the client asked for was refused; the connection goes on.

    `code` is for programs: unknown_topic, not_subscribed, unknown_move,
    wrong_range, mixed_topics.
    """

    code: str
    message: str
    id: int = 0
    topics: tuple[str, ...] = ()


FromClient = (
    Login
    | Subscribe
    | Unsubscribe
    | Ack
    | Publish
    | Accept
    | Decline
    | Moved
    | Logout
    | Forward
)
FromBroker = (
    Welcome
    | Subscribed
    | Unsubscribed
    | Message
    | Beat
    | Published
    | StaleRoute
    | RequestToMove
    | Connect
    | Problem
)

_encoder = msgspec.json.Encoder()
_from_client = msgspec.json.Decoder(FromClient)
_from_broker = msgspec.json.Decoder(FromBroker)


class CloseCode:
    """Why a broker closes a connection, as WebSocket close codes of our own."""

    MALFORMED = 4400  # not JSON, not a frame that we know, or a wrong field
    UNAUTHORIZED = 4401  # a wrong token
    LOGIN_TIMEOUT = 4408  # said nothing in time
    REPLACED = 4409  # the same user has subscribed on another connection
    SLOW_READER = 4429  # too much waited for it
    NOT_ACKNOWLEDGING = 4430
    LEAVING = 4503  # the broker is shutting down: ask for another
    LEASE_LOST = 4504  # the broker was cut off or frozen: ask for another


def encode(frame: Frame) -> bytes:
    return _encoder.encode(frame)


def decode_from_client(text: bytes | str) -> FromClient:
    """Raises FrameError, which says what is wrong and where."""
    frame: FromClient = _decode(_from_client, text)
    return frame


def decode_from_broker(text: bytes | str) -> FromBroker:
    """Raises FrameError, which says what is wrong and where."""
    frame: FromBroker = _decode(_from_broker, text)
    return frame


def _decode(decoder: "msgspec.json.Decoder[T]", text: bytes | str) -> T:
    try:
        if isinstance(text, bytes) and not text.isascii():
            text = text.decode()  # msgspec does not look into `data`
        return decoder.decode(text)
    except (ValueError, RecursionError) as cause:
        raise FrameError(f"cannot read the frame: {_shortened(str(cause))}") from cause


def _shortened(text: str) -> str:
    """An error may quote what was sent, which may be long or break a line, and goes
    into logs and into the reason of a close, which has room for 123 bytes."""
    shown = text[: _MOST_SHOWN + 1]
    if not (shown.isascii() and shown.isprintable()):
        shown = shown.encode("unicode_escape").decode()
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."


def _check_names(field: str, names: Iterable[str]) -> None:
    for name in names:
        refused = refusal(name)
        if refused:
            raise FrameError(f"{field}: {refused}")


def _check_cursors(cursors: Cursors) -> None:
    for topic, source, *_ in cursors:
        refused = refusal(topic) or refusal(source)
        if refused:
            raise FrameError(f"cursors: {refused}")
