"""Counts messages by publisher and sub-channel, and what they cause."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark import Broadcast

from brokerwise.kernels.deliveries import count_deliveries
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.load import refuse_overflow
from brokerwise.model.network import Published
from brokerwise.model.subchannels import Subchannels
from brokerwise.pipeline.ingest.exchange import Exchange
from brokerwise.pipeline.network_content import offsets_of
from brokerwise.pipeline.summarize.interests import Interests
from brokerwise.pipeline.summarize.messages import Messages

_PENDING = 1_000_000  # messages


@dataclass(frozen=True, eq=False)
class Counted:
    """What users publish; how many messages there were; deliveries that sub-channels
    cause, and those that exact ranges would."""

    published: Published
    messages: int
    deliveries: int
    exact: int

    @property
    def false_positive_share(self) -> float:
        """Of all deliveries by sub-channel, those that nobody asked for."""
        if not self.deliveries:
            return 0.0
        return (self.deliveries - self.exact) / self.deliveries


@dataclass(frozen=True, eq=False)
class _Bucket:
    user: Int32s
    subchannel: Int32s
    rate: Int64s
    messages: int
    deliveries: int
    exact: int


def count_messages(
    exchange: Exchange,
    subchannels: Subchannels,
    interests: "Broadcast[Interests]",
    users: int,
) -> Counted:
    """A task counts each bucket; only rates come to the driver."""

    def count(bucket: int, items: Iterator[Messages]) -> Iterator[Any]:
        try:
            yield _count(items, subchannels, interests.value)
        except InputError as error:  # to try again would not help
            yield error

    parts: list[_Bucket] = []
    for part in exchange.read(count):
        if isinstance(part, InputError):
            raise part
        parts.append(part)
    user = np.concatenate([part.user for part in parts])
    rates = np.concatenate([part.rate for part in parts])
    return Counted(
        Published(
            offsets_of(np.bincount(user, minlength=users)),
            np.concatenate([part.subchannel for part in parts]),
            rates,
        ),
        sum(part.messages for part in parts),
        sum(part.deliveries for part in parts),
        sum(part.exact for part in parts),
    )


def _count(
    items: Iterator[Messages], subchannels: Subchannels, interests: Interests
) -> _Bucket:
    cells = len(subchannels)
    sums = _Sums()
    messages = 0
    deliveries = np.zeros(2, np.int64)
    for some in items:
        subchannel = subchannels.of_points(some.points)
        messages += len(subchannel)
        deliveries += _deliveries(some, subchannel, interests)
        sums.add(some.publisher.astype(np.int64) * cells + subchannel, some.amount)
    keys, rates = sums.total()
    published = rates > 0  # a message may have no bytes
    user, subchannels_of = np.divmod(keys[published], cells)
    return _Bucket(
        user.astype(np.int32),
        subchannels_of.astype(np.int32),
        rates[published],
        messages,
        int(deliveries[0]),
        int(deliveries[1]),
    )


def _deliveries(some: Messages, subchannel: Int32s, interests: Interests) -> Int64s:
    return count_deliveries(
        some.publisher,
        subchannel,
        some.points,
        interests.wanted.offsets,
        interests.wanted.subchannels,
        interests.coverage,
    )


class _Sums:
    """Amounts by key. Holds each key once and at most as many entries besides."""

    def __init__(self) -> None:
        self._keys: list[Int64s] = []
        self._amounts: list[Int64s] = []
        self._pending = 0
        self._merged = 0

    def add(self, keys: Int64s, amounts: Int64s) -> None:
        self._keys.append(keys)
        self._amounts.append(amounts)
        self._pending += len(keys)
        if self._pending > max(self._merged, _PENDING):
            self.total()

    def total(self) -> tuple[Int64s, Int64s]:
        """All keys, ascending, and the sum of each."""
        none = np.zeros(0, np.int64)
        keys = np.concatenate([none, *self._keys])
        amounts = np.concatenate([none, *self._amounts])
        refuse_overflow("rate", amounts, np.ones(len(amounts)))
        order = np.argsort(keys, kind="stable")
        keys, amounts = keys[order], amounts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        sums = np.add.reduceat(amounts, starts) if len(starts) else none
        self._keys, self._amounts = [keys[starts]], [sums]
        self._pending, self._merged = 0, len(starts)
        return keys[starts], sums
