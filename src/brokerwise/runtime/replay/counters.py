"""What brokers have counted: their load reports, as traffic."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import msgspec

from brokerwise.runtime.replay.traffic import Traffic

_Count = Annotated[int, msgspec.Meta(ge=0)]


class Seen(msgspec.Struct, frozen=True):
    received: _Count = 0
    delivered: _Count = 0


class Passed(msgspec.Struct, frozen=True):
    forwarded: _Count = 0


class LoadReport(msgspec.Struct, frozen=True):
    """What we need of a broker's answer to GET /load. Counts are since it started;
    `epoch` tells whether it has started again."""

    broker: str
    epoch: int
    topics: dict[str, Seen] = {}
    links: dict[str, Passed] = {}
    users: dict[str, Seen] = {}


def traffic_of(reports: Iterable[LoadReport]) -> Traffic:
    """All brokers' counters together; zeros are left out."""
    received, delivered, forwarded = (Counter[tuple[str, str]]() for _ in range(3))
    sent, got = Counter[str](), Counter[str]()
    for report in reports:
        for topic, seen in report.topics.items():
            received[report.broker, topic] = seen.received
            delivered[report.broker, topic] = seen.delivered
        for peer, passed in report.links.items():
            forwarded[report.broker, peer] = passed.forwarded
        for user, seen in report.users.items():
            sent[user] += seen.received
            got[user] += seen.delivered
    return Traffic(+received, +delivered, +forwarded, +sent, +got)
