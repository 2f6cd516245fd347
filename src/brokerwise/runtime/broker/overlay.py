"""What a broker knows of the overlay that it is part of."""

from brokerwise.runtime.protocol.control import OverlayPart
from brokerwise.runtime.protocol.subchannels import Box, is_subchannel, topics_of


class Overlay:
    """Sub-channels as topics, and where content goes on to."""

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
