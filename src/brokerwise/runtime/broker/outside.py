"""What the core of a broker asks of the shell around it."""

from typing import Protocol

import msgspec

from brokerwise.runtime.broker.topics import RoutedMessage
from brokerwise.runtime.protocol.frames import Forward


class Outside(Protocol):
    """None of these is waited for."""

    def forward(self, broker: str, frame: Forward) -> None:
        """Send a message to another broker, after those before it."""

    def is_pressed(self) -> bool:
        """Whether much waits for other brokers to read it, who have not been slow for
        long."""

    def join(self) -> None:
        """Ask the coordinator for the topics in `SessionHandler.wanted`, soon."""

    def look_up(self, topic: str) -> None:
        """Ask the coordinator for a route, and call `MessageRouter.routed` with it."""

    def leave(self, topic: str) -> None:
        """Nobody wants a topic here any more: tell the coordinator if it lasts."""

    def attach(self) -> None:
        """Tell the data cluster what `ChannelSubscriptions` has to say, soon."""

    def feed(self, topic: str, data: msgspec.Raw) -> str:
        """Send a record to a dataset, soon. Why it cannot be, if so."""

    def flush(self) -> None:
        """Call `Delivery.flush` when the turn is over."""

    def process(self, topic: str, item: RoutedMessage) -> bool:
        """Put a message through the topic's step and call `Delivery.fan_out` with
        what comes out; False if the topic has no step."""
