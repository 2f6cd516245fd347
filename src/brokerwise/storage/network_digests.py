"""The digests of a network's content, however it is written."""

from collections.abc import Callable, Iterator

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.names import Names
from brokerwise.model.network import Network
from brokerwise.storage.digest import BLOCK, block_digest, table_digest


def network_digests(network: Network) -> dict[str, str]:
    """Of each table; those of costs are there though points may stand for them."""
    users, brokers = network.users, network.brokers
    published, wanted = network.published, network.wanted

    def user(ids: slice) -> bytes:
        points = network.user_points
        names = _part(network.user_names, ids)
        return block_digest(names, None if points is None else points[ids])

    def broker(ids: slice) -> bytes:
        points = network.broker_points
        names, capacity = _part(network.broker_names, ids), network.capacity[ids]
        return block_digest(capacity, names, None if points is None else points[ids])

    def rates(ids: slice) -> bytes:
        lengths, at = _lists(published.offsets, ids)
        return block_digest(lengths, published.subchannels[at], published.rates[at])

    def interests(ids: slice) -> bytes:
        lengths, at = _lists(wanted.offsets, ids)
        return block_digest(lengths, wanted.subchannels[at])

    return {
        "brokers": _table(brokers, broker),
        "users": _table(users, user),
        "rates": _table(users, rates),
        "interests": _table(users, interests),
        "access": _table(users, lambda ids: block_digest(network.access[ids])),
        "core": _table(brokers, lambda ids: block_digest(network.core[ids])),
    }


def blocks(count: int) -> Iterator[slice]:
    """The ids from 0 to `count`, block by block."""
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def _table(count: int, digest: Callable[[slice], bytes]) -> str:
    return table_digest(digest(ids) for ids in blocks(count))


def _part(names: Names, ids: slice) -> Names:
    return Names(names.data, names.offsets[ids.start : ids.stop + 1])


def _lists(offsets: Int64s, ids: slice) -> tuple[Int64s, slice]:
    """How long the lists of these owners are, and where their entries are."""
    ends = offsets[ids.start : ids.stop + 1]
    return np.diff(ends), slice(ends[0], ends[-1])
