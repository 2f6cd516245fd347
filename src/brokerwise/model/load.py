"""The load law, in one place.

A broker that carries a topic receives it once and sends it once per pair it
serves there: load(b) = sum over topics t on b of rate_t * (1 + pairs_tb).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s
from brokerwise.model.errors import InputError

# Far above what adding up a billion numbers in floating point can be off by.
_ROUNDING = 1e-6


def run_load(rate: int, pairs: int) -> int:
    """What one topic with `pairs` pairs puts on one broker."""
    return rate * (1 + pairs)


def run_loads(rates: Int64s, pairs: Int64s) -> Int64s:
    """What each run (one topic on one broker) puts on its broker."""
    refuse_overflow("load", rates, pairs.astype(np.uint64) + np.uint64(1))
    return rates * (1 + pairs)


def broker_loads(
    rates: Int64s, topic: Int32s, broker: Int32s, pairs: Int64s, brokers: int
) -> Int64s:
    """Each broker's load from the runs (topic, broker, pairs) placed on it."""
    loads = np.zeros(brokers, np.int64)
    np.add.at(loads, broker, run_loads(rates[topic], pairs))
    return loads


def refuse_overflow(
    what: str, rates: Int64s, times: npt.NDArray[np.number[Any]]
) -> None:
    """Refuse a sum of rates * times that does not fit in 64 bits.

    Both are whole numbers from zero up. O(n) in floating point; only a sum so near
    the limit that rounding could decide is added up again exactly, and slowly.
    """
    total = float(np.dot(rates.astype(np.float64), times.astype(np.float64)))
    if abs(total / INT64_MAX - 1) < _ROUNDING:
        total = sum(int(r) * int(t) for r, t in zip(rates, times, strict=True))
    if total > INT64_MAX:
        raise InputError(
            f"total {what}: found {total:.3g}, expected at most {INT64_MAX:,} "
            "(2^63 - 1)",
            hint="Shorten the period or count in larger units.",
        )
