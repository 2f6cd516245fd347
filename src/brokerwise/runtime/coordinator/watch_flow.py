"""Messages a second, from what brokers have counted. No clock: times come in."""

from collections.abc import Collection
from dataclasses import dataclass

from brokerwise.runtime.coordinator.watch_history import DIGITS
from brokerwise.runtime.protocol.control import Heartbeat


@dataclass(frozen=True)
class Rate:
    """Messages a second: received by brokers, and delivered by them."""

    received: float = 0.0
    delivered: float = 0.0


@dataclass(frozen=True)
class _Counted:
    at: float
    received: int
    delivered: int

    def rate_since(self, before: "_Counted") -> Rate:
        seconds = self.at - before.at
        return Rate(
            (self.received - before.received) / seconds,
            (self.delivered - before.delivered) / seconds,
        )


@dataclass
class _Known:
    """What a broker said last, what it had said at the last look, and what it was."""

    last: _Counted
    looked: _Counted
    rate: Rate = Rate()


class Flow:
    """Brokers report more often than is looked, and at times of their own. So what was
    counted between two looks is set against the time between the reports that say so.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def hear(self, report: Heartbeat, now: float) -> None:
        """`now` is in seconds of a clock that does not go back."""
        counted = _Counted(now, report.received, report.delivered)
        known = self._known.get(report.broker)
        if known is None or counted.received < known.last.received:  # a new process
            self._known[report.broker] = _Known(counted, counted)
        else:
            known.last = counted

    def look(self, brokers: Collection[str]) -> Rate:
        """Of these brokers together, since the last look; others are forgotten. One
        that has said nothing new goes on as before."""
        for name in self._known.keys() - set(brokers):
            del self._known[name]
        for known in self._known.values():
            if known.last.at > known.looked.at:
                known.rate = known.last.rate_since(known.looked)
                known.looked = known.last
        rates = [known.rate for known in self._known.values()]
        return Rate(
            round(sum(rate.received for rate in rates), DIGITS),
            round(sum(rate.delivered for rate in rates), DIGITS),
        )
