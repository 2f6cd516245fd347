"""The best possible plan of small problems, found without our planners."""

from collections import defaultdict
from itertools import product

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
