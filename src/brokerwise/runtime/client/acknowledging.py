"""When and how brokers are told what has been received."""

from collections.abc import Iterable

from brokerwise.runtime.client.events import Received
from brokerwise.runtime.client.following import CursorRow, Following
from brokerwise.runtime.client.link import Link
from brokerwise.runtime.client.pulse import Pulse
from brokerwise.runtime.protocol.frames import Ack
from brokerwise.runtime.protocol.limits import ACK_EVERY
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.order import Position


class Acknowledging:
    """Acknowledges every so many messages of a link, or soon after the first that is
    not; all links of all clients share one timer.

    The count, and the cursors of direct topics, are of what has been received. Those of
    channels are of what the application has dealt with: if it ends, it can go on there.
    """

    def __init__(self, following: Following, pulse: Pulse) -> None:
        self._following = following
        self._pulse = pulse
        self._owing: dict[Link, None] = {}
        self._handled: dict[str, Position] = {}

    def note(self, link: Link, message: Received) -> None:
        if message.source != SOURCE:
            link.changed[message.topic, message.source] = None
        owed = link.received - link.acknowledged
        if owed >= (link.welcome.ack_every if link.welcome else ACK_EVERY):
            self._acknowledge(link)
        elif owed == 1:
            self._soon(link)

    def handled(self, message: Received, links: Iterable[Link]) -> None:
        """A channel's result has been dealt with; tell whoever serves the topic."""
        self._handled[message.topic] = (message.epoch, message.seq)
        for link in links:
            link.changed[message.topic, SOURCE] = None
            self._soon(link)

    def served(self, link: Link, topics: Iterable[str]) -> None:
        """Another broker serves topics: it has not heard what the one before has."""
        for topic in topics:
            if topic in self._handled:
                link.changed[topic, SOURCE] = None
                self._soon(link)

    def settle(self) -> None:
        """Acknowledge everything now."""
        owing, self._owing = self._owing, {}
        for link in owing:
            self._acknowledge(link)

    def _soon(self, link: Link) -> None:
        self._owing[link] = None
        self._pulse.soon(self.settle)

    def _acknowledge(self, link: Link) -> None:
        cursors: list[CursorRow] = []
        for topic, source in link.changed:
            position = self._position(topic, source)
            if position is not None:
                cursors.append((topic, source, *position))
        link.changed.clear()
        link.acknowledge(Ack(link.received, tuple(cursors)))

    def _position(self, topic: str, source: str) -> Position | None:
        if source == SOURCE:
            return self._handled.get(topic)
        return self._following.position(topic, source)
