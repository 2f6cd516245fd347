"""The overlay's algorithms in plain numpy, as they are described: no incremental costs,
tables of all users and all sub-channels, for networks of some hundred users.

They give the same wirings and costs as the planners; nothing of theirs is used.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.network import Network

_FAR = np.int64(2**62)


@dataclass(frozen=True, eq=False)
class Tables:
    """Of users (rows): what they send in each sub-channel, whether they want it."""

    network: Network
    sent: Int64s
    wants: Bools
    load: Int64s

    @classmethod
    def of(cls, network: Network) -> "Tables":
        shape = network.users, len(network.subchannels)
        rates, wants = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        published, wanted = network.published, network.wanted
        rates[published.owners(), published.subchannels] = published.rates
        wants[wanted.owners(), wanted.subchannels] = True
        sent = np.where(wants.sum(axis=0) - wants > 0, rates, 0)
        gets = np.where(wants, rates.sum(axis=0) - rates, 0)
        return cls(network, sent, wants, (sent + gets).sum(axis=1))

    @cached_property
    def traffic(self) -> Int64s:
        """What each two users send each other."""
        there = self.sent @ self.wants.T.astype(np.int64)
        both = there + there.T
        np.fill_diagonal(both, 0)
        return both

    @cached_property
    def heaviest_first(self) -> Int64s:
        return np.argsort(-self.load, kind="stable")


class _Filling:
    """Brokers that fill up."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.access = tables.network.access
        self.room = tables.network.capacity.copy()
        self.broker = np.full(len(tables.load), -1, np.int32)

    def fitting(self, user: int) -> Int64s:
        fits = (self.access[user] >= 0) & (self.room >= self.tables.load[user])
        return np.flatnonzero(fits)

    def put(self, user: int, broker: int) -> None:
        self.broker[user] = broker
        self.room[broker] -= self.tables.load[user]

    def put_cheapest(self, user: int) -> None:
        fitting = self.fitting(user)
        self.put(user, int(fitting[np.argmin(self.access[user, fitting])]))


def random(tables: Tables, seed: int) -> Int32s:
    filling = _Filling(tables)
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(tables.load))
    draws = generator.random(len(tables.load))
    for user in order:
        fitting = filling.fitting(user)
        filling.put(user, int(fitting[int(draws[user] * len(fitting))]))
    return filling.broker


def greedy(tables: Tables, seed: int) -> Int32s:
    filling = _Filling(tables)
    for user in range(len(tables.load)):
        filling.put_cheapest(user)
    return filling.broker


def clustering(tables: Tables, seed: int) -> Int32s:
    filling = _Filling(tables)
    for broker in range(len(filling.room)):
        for user in _best_pair(tables, filling, broker):
            filling.put(user, broker)
    for user in tables.heaviest_first:
        if filling.broker[user] >= 0:
            continue
        fitting = filling.fitting(user)
        talk = np.array(
            [tables.traffic[user, filling.broker == b].sum() for b in fitting]
        )
        links = filling.access[user, fitting]
        worth = _worth(talk, links)
        chosen = np.lexsort((fitting, links, -talk, -worth))[0]
        filling.put(user, int(fitting[chosen]))
    return filling.broker


def _best_pair(tables: Tables, filling: _Filling, broker: int) -> list[int]:
    free = np.flatnonzero((filling.broker < 0) & (filling.access[:, broker] >= 0))
    low, high = np.triu_indices(len(free), 1)
    i, j = free[low], free[high]
    usable = tables.load[i] + tables.load[j] <= filling.room[broker]
    usable &= tables.traffic[i, j] > 0
    i, j = i[usable], j[usable]
    if len(i) == 0:
        return []
    traffic = tables.traffic[i, j]
    links = filling.access[i, broker] + filling.access[j, broker]
    best = np.lexsort((j, i, -traffic, -_worth(traffic, links)))[0]
    return [int(i[best]), int(j[best])]


def _worth(traffic: Int64s, cost: Int64s) -> Float64s:
    """Traffic for each unit of cost; none is worth 0."""
    free = np.where(traffic > 0, np.inf, 0.0)
    return np.where(cost > 0, traffic / np.maximum(cost, 1), free)


def steiner(tables: Tables, seed: int) -> Int32s:
    filling = _Filling(tables)
    weights = _tree_weights(tables)
    draws = np.random.default_rng(seed).random(len(tables.load))
    for user in tables.heaviest_first:
        fitting = filling.fitting(user)
        likely = fitting[weights[user, fitting] > 0]
        if len(likely) == 0:
            filling.put_cheapest(user)
            continue
        passed = np.cumsum(weights[user, likely])
        at = int(np.searchsorted(passed, draws[user] * passed[-1], side="right"))
        filling.put(user, int(likely[min(at, len(likely) - 1)]))
    return filling.broker


def _tree_weights(tables: Tables) -> Int64s:
    access, core = tables.network.access, tables.network.core
    links = np.where(access >= 0, access, _FAR // 2)
    weights = np.zeros(access.shape, np.int64)
    for c in np.flatnonzero(tables.sent.sum(axis=0)):
        waiting, distance = np.flatnonzero(tables.wants[:, c]), np.zeros(len(core))
        total, first = tables.sent[:, c].sum(), True
        while len(waiting):
            paths = links[waiting] + distance
            b = int(np.argmin(paths.min(axis=0)))
            at = int(np.argmin(paths[:, b]))
            weights[waiting[at], b] += total
            waiting = np.delete(waiting, at)
            distance = core[b] if first else np.minimum(distance, core[b])
            first = False
        for user in np.flatnonzero((tables.sent[:, c] > 0) & ~tables.wants[:, c]):
            next_to = int(np.argmin(links[user] + distance))
            weights[user, next_to] += tables.sent[user, c]
    return weights


def cost(tables: Tables, broker: Int32s) -> int:
    """Access and core from scratch: a spanning tree for each source and sub-channel."""
    network = tables.network
    shape = network.brokers, len(network.subchannels)
    sources, wanted = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    np.add.at(sources, broker, tables.sent)
    np.logical_or.at(wanted, broker, tables.wants)
    source, subchannel = np.nonzero(sources)
    members = wanted.T[subchannel]
    members[np.arange(len(source)), source] = True
    weights = _tree_costs(network.core, members)
    access = tables.load @ network.access[np.arange(network.users), broker]
    return int(access + sources[source, subchannel] @ weights)


def _tree_costs(core: Int64s, members: Bools) -> Int64s:
    """Of the minimum spanning tree over each row's members: Prim, all rows at once."""
    rows = np.arange(len(members))
    outside = members.copy()
    newest = np.argmax(outside, axis=1)
    outside[rows, newest] = False
    distance = core[newest]
    total = np.zeros(len(members), np.int64)
    while outside.any():
        links = np.where(outside, distance, _FAR)
        newest = np.argmin(links, axis=1)
        growing = outside[rows, newest]
        total += np.where(growing, links[rows, newest], 0)
        outside[rows, newest] = False
        distance = np.where(
            growing[:, None], np.minimum(distance, core[newest]), distance
        )
    return total


def sweep(tables: Tables, broker: Int32s) -> Int32s:
    """Each user, heaviest first, to the broker where all costs least, of equals the
    first, if that is less than now: every candidate is counted from scratch."""
    home = broker.copy()
    network = tables.network
    load = np.zeros(network.brokers, np.int64)
    np.add.at(load, home, tables.load)
    now = cost(tables, home)
    for user in tables.heaviest_first:
        tried = dict(_tries(tables, home, load, int(user)))
        best = min(tried, key=lambda b: (tried[b], b), default=None)
        if best is not None and tried[best] < now:
            load[home[user]] -= tables.load[user]
            load[best] += tables.load[user]
            home[user], now = best, tried[best]
    return home


def _tries(
    tables: Tables, home: Int32s, load: Int64s, user: int
) -> Iterator[tuple[int, int]]:
    network = tables.network
    for target in range(network.brokers):
        room = network.capacity[target] - load[target]
        known = network.access[user, target] >= 0
        if target != home[user] and known and room >= tables.load[user]:
            moved = home.copy()
            moved[user] = target
            yield target, cost(tables, moved)


ALGORITHMS: dict[str, Callable[[Tables, int], Int32s]] = {
    "random": random,
    "greedy": greedy,
    "clustering": clustering,
    "steiner": steiner,
}
