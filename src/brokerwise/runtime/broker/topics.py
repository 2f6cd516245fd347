"""What a broker remembers of one topic: its route, its order, its sessions, its load.

`router` decides where a topic's messages go.
"""

from dataclasses import dataclass, field

import msgspec

from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.process.meters import LatencyHistogram
from brokerwise.runtime.protocol.fleet import Address, CursorRow, OverlayPart, Route
from brokerwise.runtime.protocol.frames import Forward, Message
from brokerwise.runtime.protocol.order import Position, Sequencer
from brokerwise.runtime.protocol.subchannels import Box, is_subchannel, topics_of


class KnownRoute:
    """The newest route of a topic, and since which generation each of its brokers has
    been in it without a break, as far as this broker can tell."""

    __slots__ = ("_since", "brokers", "feeder", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self.brokers: tuple[Address, ...] = ()
        self.feeder = ""
        self._since: dict[str, int] = {}

    def update(self, route: Route) -> frozenset[str]:
        """Take a route if it is newer; returns the brokers that are new in it."""
        if route.generation <= self.generation:
            return frozenset()
        # In a generation that we did not see, any broker may have been missing.
        before = self._since if route.generation == self.generation + 1 else {}
        added = {a.broker for a in route.brokers} - self._since.keys()
        self._since = {
            address.broker: before.get(address.broker, route.generation)
            for address in route.brokers
        }
        self.generation, self.brokers = route.generation, route.brokers
        self.feeder = route.feeder
        return frozenset(added)

    def members(self) -> frozenset[str]:
        return frozenset(self._since)

    def missed_by(self, generation: int) -> frozenset[str]:
        """The brokers that must still get a message sent by an older route: all but
        those that have carried the topic ever since, which its publisher sent it to."""
        return frozenset(b for b, since in self._since.items() if since > generation)


class Overlay:
    """The overlay that a broker is part of: sub-channels as topics, and the brokers
    that content goes on to."""

    def __init__(self, part: OverlayPart) -> None:
        self._axes = part.axes
        self._branches = {(b.origin, b.topic): b.brokers for b in part.branches}

    def branches(self, origin: str, topic: str) -> tuple[str, ...]:
        """The brokers that content from `origin` goes to next."""
        return self._branches.get((origin, topic), ())

    def knows(self, topic: str) -> bool:
        return is_subchannel(self._axes, topic)

    def topics_of(self, ranges: Box) -> list[str]:
        """The sub-channels that a box touches. Raises WrongRangeError."""
        return topics_of(self._axes, ranges)


@dataclass(frozen=True, slots=True)
class RoutedMessage:
    """A message on its way through a broker. `arrived` is by the broker's clock;
    `origin` is the broker where it entered an overlay, if it did."""

    source: str
    epoch: int
    seq: int
    data: msgspec.Raw
    at: float
    arrived: float
    origin: str = ""

    def to_message(self, topic: str, data: msgspec.Raw, skipped: bool) -> Message:
        return Message(
            *(topic, self.source, self.epoch, self.seq, data, self.at, skipped)
        )

    def to_forward(self, topic: str, generation: int) -> Forward:
        return Forward(
            *(topic, self.source, self.epoch, self.seq, self.data, self.at),
            origin=self.origin,
            generation=generation,
        )


@dataclass(eq=False, slots=True)
class Topic:
    """The sessions that get the messages of a topic here, and the last messages.

    `carried`: the broker is in the topic's route, or is about to be (`joining`), or
    has asked to be taken out of it (`leaving`).
    `unwritten` messages, framed, wait for the end of the turn: sessions may only come
    or go when there are none. `written` bytes have gone since it was last checked
    whether its sessions keep up. `positions` are those of the last message delivered
    of each source; with a processing step, messages that the sequencer has passed may
    still wait for it. `framed_bytes` counts each message that had sessions here, as it
    is framed, once.
    """

    name: str
    route: KnownRoute = field(default_factory=KnownRoute)
    carried: bool = False
    joining: bool = False
    leaving: bool = False
    settles_at: float | None = None
    sequencer: Sequencer[RoutedMessage] = field(
        default_factory=lambda: Sequencer(patient=True)
    )
    positions: dict[str, Position] = field(default_factory=dict)
    sessions: dict[Session, None] = field(default_factory=dict)
    unwritten: list[bytes] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    written: int = 0
    received: int = 0
    delivered: int = 0
    framed_bytes: int = 0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    _snapshot: tuple[Session, ...] | None = ()

    def add(self, session: Session) -> None:
        self.sessions[session] = None
        self._snapshot = None

    def remove(self, session: Session) -> None:
        self.sessions.pop(session, None)
        self._snapshot = None

    def audience(self) -> tuple[Session, ...]:
        """The sessions as they are now, whatever a write does to them."""
        if self._snapshot is None:
            self._snapshot = tuple(self.sessions)
        return self._snapshot

    def begin_joining(self) -> None:
        """Hold what comes until it is known what came before."""
        self.carried = self.joining = True
        self.leaving = False
        self._restart(Sequencer(settled=False, blind=True, patient=True))

    def forget(self) -> None:
        """Forget everything but counters, as if the broker had never carried it."""
        self.route = KnownRoute()
        self.carried = self.joining = self.leaving = False
        self._restart(Sequencer(patient=True))

    def _restart(self, sequencer: Sequencer[RoutedMessage]) -> None:
        self.sequencer = sequencer
        self.positions = {}
        self.settles_at = None

    def cursors(self) -> list[CursorRow]:
        """What has been taken in of each source."""
        return [(self.name, s, *p) for s, p in self.sequencer.last.items()]

    def delivered_cursors(self) -> list[CursorRow]:
        return [(self.name, s, *p) for s, p in self.positions.items()]
