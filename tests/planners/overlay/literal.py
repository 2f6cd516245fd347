"""The heuristics in plain Python, step by step as they are described, for small
networks. Brokers of users who find no room are -1."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np

from brokerwise.model.arrays import Int32s
from brokerwise.planners.overlay.problem import Demand

Weights = dict[tuple[int, int], int]
"""Traffic on the link of a user to a broker."""


def rates_of(demand: Demand, user: int) -> dict[int, int]:
    part = slice(demand.rate_offsets[user], demand.rate_offsets[user + 1])
    found = zip(demand.rate_subchannels[part], demand.rates[part], strict=True)
    return {int(c): int(rate) for c, rate in found}


def wants_of(demand: Demand, user: int) -> set[int]:
    first, last = demand.wanted_offsets[user : user + 2]
    return set(demand.wanted[first:last].tolist())


def known_to(demand: Demand, user: int) -> list[int]:
    return [b for b in range(demand.brokers) if demand.access[user, b] >= 0]


def cost(demand: Demand, user: int, broker: int) -> int:
    return int(demand.access[user, broker])


def by_load(demand: Demand) -> list[int]:
    return sorted(range(demand.users), key=lambda u: (-int(demand.load[u]), u))


class Filling:
    """Brokers that fill up."""

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self.room = demand.capacity.tolist()
        self.home = [-1] * demand.users

    def fitting(self, user: int) -> list[int]:
        load = int(self.demand.load[user])
        return [b for b in known_to(self.demand, user) if self.room[b] >= load]

    def put(self, user: int, broker: int) -> None:
        self.home[user] = broker
        self.room[broker] -= int(self.demand.load[user])

    def put_cheapest(self, user: int) -> None:
        fitting = self.fitting(user)
        if fitting:
            self.put(user, min(fitting, key=lambda b: (cost(self.demand, user, b), b)))


def greedy(demand: Demand) -> list[int]:
    filling = Filling(demand)
    for user in range(demand.users):
        filling.put_cheapest(user)
    return filling.home


def traffic(demand: Demand, i: int, j: int) -> int:
    """What two users send each other."""
    there = sum(r for c, r in rates_of(demand, i).items() if c in wants_of(demand, j))
    back = sum(r for c, r in rates_of(demand, j).items() if c in wants_of(demand, i))
    return there + back


def _worth(flow: int, price: int) -> tuple[bool, Fraction, int]:
    """Sorts by flow per price; without a price any flow is worth more."""
    free = flow > 0 and price == 0
    return free, Fraction(0 if free else flow, price or 1), flow


def _pull(demand: Demand, user: int, broker: int, flow: int) -> tuple[object, ...]:
    price = cost(demand, user, broker)
    return *_worth(flow, price), -price, -broker


def best_pair(
    demand: Demand, broker: int, free: list[int], capacity: int
) -> tuple[int, int] | None:
    found = [
        (*_worth(flow, cost(demand, i, broker) + cost(demand, j, broker)), -i, -j)
        for i, j in combinations(free, 2)
        if broker in known_to(demand, i) and broker in known_to(demand, j)
        if demand.load[i] + demand.load[j] <= capacity
        if (flow := traffic(demand, i, j)) > 0
    ]
    return (-max(found)[3], -max(found)[4]) if found else None


def clustering(demand: Demand) -> list[int]:
    filling = Filling(demand)
    for b in range(demand.brokers):
        free = [u for u in range(demand.users) if filling.home[u] < 0]
        for user in best_pair(demand, b, free, filling.room[b]) or ():
            filling.put(user, b)
    for user in by_load(demand):
        fitting = filling.fitting(user)
        if filling.home[user] >= 0 or not fitting:
            continue
        talk = {
            b: sum(
                traffic(demand, user, v) for v, h in enumerate(filling.home) if h == b
            )
            for b in fitting
        }
        _, chosen = max((_pull(demand, user, b, talk[b]), b) for b in fitting)
        filling.put(user, chosen)
    return filling.home


def tree_weights(demand: Demand) -> Weights:
    """One tree for each sub-channel over those who want it."""
    weights: Weights = {}
    for c in range(demand.subchannels):
        users = [u for u in range(demand.users) if c in wants_of(demand, u)]
        if not demand.total[c]:
            continue
        home = _grown(demand, users, {}, [])
        sent = {u: rates_of(demand, u).get(c, 0) for u in range(demand.users)}
        for user in users:
            link = user, home[user]
            received = int(demand.total[c]) - sent[user]
            weights[link] = weights.get(link, 0) + received + sent[user]
        for user in set(sent) - set(users):
            if sent[user]:
                _, b, _ = min(_paths(demand, [user], list(home.values())))
                weights[user, b] = weights.get((user, b), 0) + sent[user]
    return weights


def publisher_weights(demand: Demand) -> Weights:
    """A tree for each publisher and sub-channel."""
    weights: Weights = {}
    for source in range(demand.users):
        for c, rate in rates_of(demand, source).items():
            users = [
                u
                for u in range(demand.users)
                if u != source and c in wants_of(demand, u)
            ]
            _, start, _, _ = min(
                (cost(demand, source, a) + path, a, b, user)
                for a in known_to(demand, source)
                for path, b, user in _paths(demand, users, [a])
            )
            home = _grown(demand, users, {source: start}, [start])
            for link in home.items():
                weights[link] = weights.get(link, 0) + rate
    return weights


def _paths(
    demand: Demand, users: list[int], tree: list[int]
) -> list[tuple[int, int, int]]:
    """Cost from the tree, or from nothing, with the broker next to the user."""
    return [
        (
            min((int(demand.core[a, b]) for a in tree), default=0) + cost(demand, u, b),
            b,
            u,
        )
        for u in users
        for b in known_to(demand, u)
    ]


def _grown(
    demand: Demand, users: list[int], home: dict[int, int], tree: list[int]
) -> dict[int, int]:
    waiting = list(users)
    while waiting:
        _, b, user = min(_paths(demand, waiting, tree))
        home[user] = b
        tree = [*tree, b]
        waiting.remove(user)
    return home


def mixing(demand: Demand, weights: Weights, seed: int) -> list[int]:
    draws = np.random.default_rng(seed).random(demand.users).tolist()
    filling = Filling(demand)
    for user in by_load(demand):
        likely = [b for b in filling.fitting(user) if weights.get((user, b), 0)]
        drawn = draws[user] * sum(weights[user, b] for b in likely)
        passed = 0
        for b in likely:
            passed += weights[user, b]
            if passed > drawn:
                filling.put(user, b)
                break
        else:
            filling.put_cheapest(user)
    return filling.home


def packings(demand: Demand) -> bool:
    """Whether any wiring is within capacity and reach, by trying all."""
    for homes in product(*(known_to(demand, u) for u in range(demand.users))):
        load = [0] * demand.brokers
        for user, b in enumerate(homes):
            load[b] += int(demand.load[user])
        if all(a <= c for a, c in zip(load, demand.capacity.tolist(), strict=True)):
            return True
    return False


def is_wiring(demand: Demand, broker: Int32s) -> bool:
    """Everybody on one broker, within capacity and reach."""
    load = [0] * demand.brokers
    for user, b in enumerate(broker.tolist()):
        if b not in known_to(demand, user):
            return False
        load[b] += int(demand.load[user])
    return all(a <= c for a, c in zip(load, demand.capacity.tolist(), strict=True))
