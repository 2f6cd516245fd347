"""One topic on one broker: its order, its sessions, its load."""

from dataclasses import dataclass

import msgspec

from brokerwise.runtime.broker.latency import LatencyHistogram
from brokerwise.runtime.broker.routes import KnownRoute
from brokerwise.runtime.broker.session import Session
from brokerwise.runtime.protocol.control import CursorRow
from brokerwise.runtime.protocol.frames import Forward, Message
from brokerwise.runtime.protocol.order import Position, Sequencer


@dataclass(frozen=True, slots=True)
class Item:
    """A message on its way through a broker. `arrived` is by the broker's clock, and
    `origin` where it entered an overlay, if it did."""

    source: str
    epoch: int
    seq: int
    data: msgspec.Raw
    at: float
    arrived: float
    origin: str = ""

    def message(self, topic: str, data: msgspec.Raw, skipped: bool) -> Message:
        return Message(
            *(topic, self.source, self.epoch, self.seq, data, self.at, skipped)
        )

    def forward(self, topic: str, generation: int) -> Forward:
        return Forward(
            *(topic, self.source, self.epoch, self.seq, self.data, self.at),
            origin=self.origin,
            generation=generation,
        )


class Topic:
    """Who gets the messages of a topic here, and which were the last ones.

    `carried`: the broker is in the topic's route, or is about to be (`joining`), or
    has asked to be taken out of it (`leaving`).
    `unwritten` messages, framed, wait for the end of the turn: sessions may only come
    or go when there are none. `written` bytes have gone since it was last seen whether
    its sessions keep up. `positions` are of the last message delivered of each
    source; with a processing step, messages that the sequencer has passed may still
    wait for it. `framed_bytes` counts each message that had sessions here, as it is
    framed, once.
    """

    __slots__ = (
        "_snapshot",
        "arrivals",
        "carried",
        "delivered",
        "framed_bytes",
        "joining",
        "latency",
        "leaving",
        "name",
        "positions",
        "received",
        "route",
        "sequencer",
        "sessions",
        "settles_at",
        "unwritten",
        "written",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.route = KnownRoute()
        self.carried = False
        self.joining = False
        self.leaving = False
        self.settles_at: float | None = None
        self.sequencer: Sequencer[Item] = Sequencer(patient=True)
        self.positions: dict[str, Position] = {}
        self.sessions: dict[Session, None] = {}
        self._snapshot: tuple[Session, ...] | None = ()
        self.unwritten: list[bytes] = []
        self.arrivals: list[float] = []
        self.written = 0
        self.received = 0
        self.delivered = 0
        self.framed_bytes = 0
        self.latency = LatencyHistogram()

    def add(self, session: Session) -> None:
        self.sessions[session] = None
        self._snapshot = None

    def remove(self, session: Session) -> None:
        self.sessions.pop(session, None)
        self._snapshot = None

    def audience(self) -> tuple[Session, ...]:
        """The sessions as they are now: what a write does to them is for the next."""
        if self._snapshot is None:
            self._snapshot = tuple(self.sessions)
        return self._snapshot

    def begin_joining(self) -> None:
        """Hold what comes until it is known what came before."""
        self.carried = self.joining = True
        self.leaving = False
        self.sequencer = Sequencer(settled=False, blind=True, patient=True)
        self.positions = {}
        self.settles_at = None

    def forget(self) -> None:
        """As if we had never carried it, but for what was counted."""
        self.route = KnownRoute()
        self.carried = self.joining = self.leaving = False
        self.sequencer = Sequencer(patient=True)
        self.positions = {}
        self.settles_at = None

    def cursors(self) -> list[CursorRow]:
        """What has been taken in of each source."""
        return [(self.name, s, *p) for s, p in self.sequencer.last.items()]

    def delivered_cursors(self) -> list[CursorRow]:
        return [(self.name, s, *p) for s, p in self.positions.items()]
