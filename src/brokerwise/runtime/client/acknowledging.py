"""When and how brokers are told what has been received."""

from brokerwise.runtime.client.events import Received
from brokerwise.runtime.client.following import CursorRow, Following
from brokerwise.runtime.client.link import Link
from brokerwise.runtime.client.pulse import Pulse
from brokerwise.runtime.frames import Ack
from brokerwise.runtime.limits import ACK_EVERY


class Acknowledging:
    """Acknowledges every so many messages of a link, or soon after the first that is
    not; all links of all clients share one timer."""

    def __init__(self, following: Following, pulse: Pulse) -> None:
        self._following = following
        self._pulse = pulse
        self._owing: dict[Link, None] = {}

    def note(self, link: Link, message: Received) -> None:
        link.changed[message.topic, message.source] = None
        owed = link.received - link.acknowledged
        if owed >= (link.welcome.ack_every if link.welcome else ACK_EVERY):
            self._acknowledge(link)
        elif owed == 1:
            self._owing[link] = None
            self._pulse.soon(self.settle)

    def settle(self) -> None:
        """Acknowledge everything now."""
        owing, self._owing = self._owing, {}
        for link in owing:
            self._acknowledge(link)

    def _acknowledge(self, link: Link) -> None:
        cursors: list[CursorRow] = []
        for topic, source in link.changed:
            position = self._following.position(topic, source)
            if position is not None:
                cursors.append((topic, source, *position))
        link.changed.clear()
        link.acknowledge(Ack(link.received, tuple(cursors)))
