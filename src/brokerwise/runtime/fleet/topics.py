"""The topics of a running fleet: where they are, how busy, and how late."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.operator import BrokerStatus, Operator
from brokerwise.runtime.net.http import ask
from brokerwise.runtime.net.tls import client_tls

REQUEST_SECONDS = 10.0  # a broker may be busy with thousands of sessions


@dataclass(frozen=True)
class TopicStatus:
    """A topic on a broker that carries it.

    Latencies are from when a message came to the broker until it was handed to its
    sessions, processing included, over all messages since the broker started; None if
    there were none. `target_ms` is None without one.
    """

    topic: str
    broker: str
    home: str
    received: int
    delivered: int
    received_per_second: float
    p50_ms: float | None
    p90_ms: float | None
    target_ms: float | None

    @property
    def met(self) -> bool | None:
        """Whether it has met its target so far; None if nobody can say."""
        if self.p90_ms is None or self.target_ms is None:
            return None
        return self.p90_ms <= self.target_ms


@dataclass(frozen=True)
class _Planned:
    """What the coordinator says of topics."""

    homes: dict[str, str] = field(default_factory=dict)
    targets: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Counted:
    """What a broker says of a topic."""

    received: int = 0
    delivered: int = 0
    received_per_second: float = 0.0
    p50_ms: float = 0.0
    p90_ms: float = 0.0


@dataclass(frozen=True)
class _Load:
    broker: str
    topics: dict[str, _Counted] = field(default_factory=dict)


async def topics_of(
    fleet: FleetFile, brokers: Iterable[BrokerStatus]
) -> list[TopicStatus]:
    """The topics that these brokers carry, the one that is latest for its target
    first. Raises UnreachableError if one does not answer. Cancelling it loses
    nothing."""
    planned = await Operator(fleet).ask("GET", "/topics", None, _Planned)
    up = [broker for broker in brokers if not broker.gone]
    loads = await asyncio.gather(*(_load(fleet, broker.url) for broker in up))
    return sorted(_joined(planned, loads), key=_worst_first)


def _joined(planned: _Planned, loads: Iterable[_Load]) -> Iterable[TopicStatus]:
    for load in loads:
        for topic, counted in load.topics.items():
            yield _status(topic, load.broker, counted, planned.homes, planned.targets)


def _status(
    topic: str,
    broker: str,
    counted: _Counted,
    homes: Mapping[str, str],
    targets: Mapping[str, float],
) -> TopicStatus:
    known = counted.delivered > 0
    return TopicStatus(
        topic=topic,
        broker=broker,
        home=homes.get(topic, ""),
        received=counted.received,
        delivered=counted.delivered,
        received_per_second=counted.received_per_second,
        p50_ms=counted.p50_ms if known else None,
        p90_ms=counted.p90_ms if known else None,
        target_ms=targets.get(topic),
    )


def _worst_first(status: TopicStatus) -> tuple[float, str, str]:
    late = 0.0
    if status.p90_ms is not None:
        late = status.p90_ms / (status.target_ms or float("inf"))
    return -late, status.topic, status.broker


async def _load(fleet: FleetFile, url: str) -> _Load:
    return await ask(
        f"{url.replace('ws', 'http', 1)}/load",
        None,
        _Load,
        method="GET",
        token=fleet.broker_token,
        seconds=REQUEST_SECONDS,
        ssl=client_tls(fleet.coordinator, fleet.authority),
    )
