"""What brokers say of their topics, and which of these matter. Pure.

A fleet may have a great many topics. Of each broker only those are kept that may be
among the ones that are shown.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain

import msgspec

from brokerwise.runtime.coordinator.orders import LoadPage
from brokerwise.runtime.protocol.names import is_channel

SHOWN_TOPICS = 200


class TopicRow(msgspec.Struct, frozen=True, gc=False):
    """A topic on a broker. Latencies are None before anything was delivered, `met` if
    nobody can say."""

    topic: str
    broker: str
    received_per_second: float
    p50_ms: float | None
    p90_ms: float | None
    target_ms: float | None
    met: bool | None


def topic_rows(
    broker: str, page: LoadPage, targets: Mapping[str, float]
) -> Iterator[TopicRow]:
    for topic, load in page.topics.items():
        is_known = load.delivered > 0
        target = targets.get(topic)
        yield TopicRow(
            topic,
            broker,
            round(load.received_per_second, 3),
            load.p50_ms if is_known else None,
            load.p90_ms if is_known else None,
            target,
            load.p90_ms <= target if is_known and target is not None else None,
        )


def busiest(rows: Iterable[TopicRow], most: int) -> list[TopicRow]:
    return nsmallest(most, rows, key=lambda r: (-r.received_per_second, r.topic))


def mattering(rows: Iterable[TopicRow], most: int = SHOWN_TOPICS) -> list[TopicRow]:
    """The latest for their targets first, then the busiest."""
    return nsmallest(most, rows, key=_concern)


def _concern(row: TopicRow) -> tuple[float, float, str, str]:
    late = 0.0
    if row.p90_ms is not None and row.target_ms is not None:
        late = row.p90_ms / row.target_ms if row.target_ms else float("inf")
    return -late, -row.received_per_second, row.topic, row.broker


@dataclass(frozen=True)
class _Said:
    """What a broker said last: the rows that matter, the topics that are late, those
    of channels, and the worst p90 of those with a target and of all."""

    rows: list[TopicRow]
    late: frozenset[str]
    channels: frozenset[str]
    worst_targeted: float | None
    worst: float | None


class TopicBoard:
    """The topics of all brokers, as each of them said last."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}

    def take(self, broker: str, page: LoadPage, targets: Mapping[str, float]) -> None:
        rows = list(topic_rows(broker, page, targets))
        targeted = (row for row in rows if row.target_ms is not None)
        self._said[broker] = _Said(
            mattering(rows),
            frozenset(row.topic for row in rows if row.met is False),
            frozenset(filter(is_channel, page.topics)),
            _worst(row.p90_ms for row in targeted),
            _worst(row.p90_ms for row in rows),
        )

    def drop(self, broker: str) -> None:
        """It does not say any more."""
        self._said.pop(broker, None)

    def keep(self, brokers: Collection[str]) -> None:
        """Forget what others said."""
        self._said = {b: said for b, said in self._said.items() if b in brokers}

    def rows(self) -> list[TopicRow]:
        return mattering(chain.from_iterable(s.rows for s in self._said.values()))

    def late(self) -> int:
        """How many topics have not met their target."""
        return len({topic for said in self._said.values() for topic in said.late})

    def channels(self) -> int:
        """How many topics are channels', which the coordinator does not know."""
        return len({topic for said in self._said.values() for topic in said.channels})

    def worst_p90(self) -> float | None:
        """Of a topic that has a target, or, if none has, of any."""
        said = self._said.values()
        targeted = _worst(each.worst_targeted for each in said)
        return _worst(each.worst for each in said) if targeted is None else targeted


def _worst(latencies: Iterable[float | None]) -> float | None:
    return max((ms for ms in latencies if ms is not None), default=None)
