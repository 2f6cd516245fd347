"""The best possible plan of small problems, found without our planners."""

from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
from benchmarks.reference.provision_optimum import needs, unit_prices

from brokerwise.model.fleet import Fleet
from brokerwise.model.units import hours
from brokerwise.model.workload import Workload


def cheapest_by_brute_force(
    workload: Workload, fleet: Fleet, threshold: int, brokers: int
) -> float | None:
    """Every way to put pairs on up to so many brokers of one type, or nowhere."""
    (kind,) = fleet
    pairs = [
        (v, int(t))
        for v in range(workload.subscribers)
        for t in workload.interests.of(v)
    ]
    rates, required = workload.rates, needs(workload, threshold)
    price_in, price_out = unit_prices(workload, fleet)
    rent = kind.hour_usd * hours(workload.period_seconds)
    best: float | None = None
    for where in product(range(brokers + 1), repeat=len(pairs)):
        received = [0] * workload.subscribers
        carried: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for (v, t), broker in zip(pairs, where, strict=True):
            if broker:
                received[v] += int(rates[t])
                carried[broker][t] += 1
        if any(got < need for got, need in zip(received, required, strict=True)):
            continue
        incoming = outgoing = 0
        fits = True
        for topics in carried.values():
            into = sum(int(rates[t]) for t in topics)
            out = sum(int(rates[t]) * n for t, n in topics.items())
            fits = fits and into + out <= kind.capacity
            incoming, outgoing = incoming + into, outgoing + out
        if fits:
            cost = rent * len(carried) + price_in * incoming + price_out * outgoing
            best = cost if best is None else min(best, cost)
    return best


def random_workload(seed: int, topics: int, subscribers: int, most: int) -> Workload:
    """Rates and interests at random; some topics nobody wants."""
    rng = np.random.default_rng(seed)
    wanted = [(t, v) for v in range(subscribers) for t in range(topics)]
    chosen = [pair for pair in wanted if rng.random() < 0.5]
    return Workload.from_pairs(
        topics=[f"t{t}" for t, _ in chosen],
        subscribers=[f"v{v:03d}" for _, v in chosen],
        rates={f"t{t}": int(rng.integers(0, most)) for t in range(topics)},
    )


def can_be_served(workload: Workload, fleet: Fleet, threshold: int) -> bool:
    """Whether there is any plan at all: every pair of every subscriber on every
    broker, or nowhere, until all needs are met."""
    rates, required = workload.rates.tolist(), needs(workload, threshold)
    wanted = [workload.interests.of(v).tolist() for v in range(workload.subscribers)]
    # A broker is its room and the topics on it. More than one for each pair is idle.
    empty = tuple(
        (kind.capacity, ())
        for kind in fleet
        for _ in range(
            min(workload.pairs, workload.pairs if kind.count is None else kind.count)
        )
    )
    failed: set[Any] = set()

    def serve(v: int, at: int, got: int, brokers: tuple[Any, ...]) -> bool:
        if v == len(wanted):
            return True
        if got >= required[v]:
            return serve(v + 1, 0, 0, brokers)
        state = (v, at, got, brokers)
        if at == len(wanted[v]) or state in failed:
            return False
        topic = wanted[v][at]
        for room, topics in dict.fromkeys(brokers):
            load = rates[topic] * (1 if topic in topics else 2)
            if load <= room:
                others = list(brokers)
                others.remove((room, topics))
                loaded = (room - load, tuple(sorted({*topics, topic})))
                after = tuple(sorted([*others, loaded]))
                if serve(v, at + 1, got + rates[topic], after):
                    return True
        if serve(v, at + 1, got, brokers):
            return True
        failed.add(state)
        return False

    return serve(0, 0, 0, empty)
