"""Who does what in a replay: sessions and topics, shared among worker processes."""

from collections.abc import Callable, Mapping

from brokerwise.runtime.replay.period import Period
from brokerwise.runtime.replay.tasks import Line, Speech, Task

PUBLISHER = "replay"
"""The user that publishes what no user of the plan does."""

Sign = Callable[[str], str]


def tasks_of(
    period: Period,
    workers: int,
    *,
    epoch: int,
    brokers: Mapping[str, str],
    sign: Sign,
    seconds: float = 0.0,
    authority: str = "",
) -> list[Task]:
    """The tasks of so many workers: each session is with one of them, and so are all
    messages of one source. `sign` makes a user's token."""
    shares = [_Share(number, sign) for number in range(workers)]
    homes: dict[str, tuple[_Share, int]] = {}
    for number, session in enumerate(period.seed.sessions):
        share = shares[number % workers]
        source = session.user if period.seed.overlay else ""
        line = share.connect(session.user, session.broker, source, session.topics)
        homes[session.user] = share, line
    carriers = _carriers(period)
    streams = []
    for number, p in enumerate(period.published):
        if p.user:
            share, line = homes[p.user]
            share.speeches.append(Speech(p.topic, p.count, (line,)))
            streams.append((p.topic, p.user, p.count))
        else:
            share = shares[number % workers]
            lines = tuple(share.publisher(broker) for broker in carriers[p.topic])
            share.speeches.append(Speech(p.topic, p.count, lines))
            streams.append((p.topic, share.source, p.count))
    return [
        Task(
            epoch=epoch,
            brokers=dict(brokers),
            lines=tuple(share.lines),
            speeches=tuple(share.speeches),
            streams=tuple(streams),
            seconds=seconds,
            message_bytes=period.message_bytes,
            authority=authority,
        )
        for share in shares
    ]


class _Share:
    """One worker's task while it is put together."""

    def __init__(self, number: int, sign: Sign) -> None:
        self.source = f"{PUBLISHER}/{number}"
        self.lines: list[Line] = []
        self.speeches: list[Speech] = []
        self._publishers: dict[str, int] = {}
        self._sign = sign

    def connect(
        self, user: str, broker: str, source: str, topics: tuple[str, ...] = ()
    ) -> int:
        """The number of a new line."""
        self.lines.append(Line(user, self._sign(user), broker, source, topics))
        return len(self.lines) - 1

    def publisher(self, broker: str) -> int:
        if broker not in self._publishers:
            line = self.connect(PUBLISHER, broker, self.source)
            self._publishers[broker] = line
        return self._publishers[broker]


def _carriers(period: Period) -> dict[str, list[str]]:
    """The brokers that carry each topic, as planned."""
    found: dict[str, list[str]] = {}
    for broker, topic in sorted(period.planned.received):
        found.setdefault(topic, []).append(broker)
    return found
