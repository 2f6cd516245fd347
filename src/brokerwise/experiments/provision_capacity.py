"""The capacity at which the naive plan needs a given number of VMs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from brokerwise.experiments.provision_checks import Lists
from brokerwise.experiments.provision_published import (
    NAIVE_THRESHOLD,
    NAIVE_VMS,
    VM_TYPES,
)
from brokerwise.kernels.selection import Rule, Topics
from brokerwise.model.arrays import Int64s
from brokerwise.model.fleet import Prices
from brokerwise.model.workload import Workload
from brokerwise.planners.control import never
from brokerwise.planners.provision.choice import carried
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand
from brokerwise.planners.provision.scan import MemoryScan

MOST_TRIES = 16
_DIGITS = 4  # of a capacity: people can write it down, and a VM is still 10 steps


@dataclass(frozen=True)
class Found:
    """A capacity, the VMs it takes, all (capacity, VMs) tried, and `least`, below
    which some subscriber's need could not be met."""

    capacity: int
    vms: int
    tried: tuple[tuple[int, int], ...]
    least: int


def find_capacity(workload: Workload, seed: int, largest_threshold: int) -> Found:
    """The experiment's capacity of c3.large for a trace.

    `largest_threshold` is the most that subscribers will be asked to get: every
    threshold up to it is feasible at the capacity found. Each try packs the random
    selection once.
    """
    least = _least_capacity(workload, largest_threshold)
    naive = _Naive(workload, seed)
    return search(naive.vms, max(1, naive.load // NAIVE_VMS), least, NAIVE_VMS)


def search(vms: Callable[[int], int], guess: int, least: int, target: int) -> Found:
    """A capacity, not below `least`, at which `vms` is `target`; else the nearest.

    `vms` about falls as capacity grows, like 1 / capacity. Where `least` already
    takes fewer, it is the answer.
    """
    tried: dict[int, int] = {}
    low, high = least, 0  # high 0: not known yet
    guess = max(least, _rounded(guess))
    for _ in range(MOST_TRIES):
        number = tried[guess] = vms(guess)
        if number == target or (number < target and guess == least):
            break
        if number > target:
            low = max(low, guess)
        else:
            high = min(high or guess, guess)
        guess = _next(guess, number, target, low, high)
        if guess in tried:
            break
    best = min(tried, key=lambda c: (abs(tried[c] - target), c))
    return Found(best, tried[best], tuple(tried.items()), least)


def _next(guess: int, number: int, target: int, low: int, high: int) -> int:
    """In proportion, if that is between what is known, else half way."""
    scaled = max(low, _rounded(guess * number / target))
    if scaled <= guess and number > target:
        scaled = guess + max(1, guess // 1000)
    if high and not low <= scaled < high:
        return (low + high) // 2
    return scaled


def _rounded(number: float) -> int:
    """To a few digits, from one up."""
    return max(1, round(float(f"{number:.{_DIGITS - 1}e}")))


def _least_capacity(workload: Workload, threshold: int) -> int:
    """The smallest capacity with which every need can be met."""
    rates = workload.rates
    silent = int(np.searchsorted(-rates, 0, side="left"))
    nothing = Topics(rates, silent, silent)
    needed = MemoryScan(workload, threshold).survey(nothing).needed_rate
    return max(1, 2 * needed)


class _Naive:
    """Random selection and first-fit packing, at one capacity after another."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._scan = MemoryScan(workload, NAIVE_THRESHOLD)
        self._rule = Rule("random", seed)
        self._low = -1
        self._counts: Int64s = np.zeros(0, np.int64)
        self._blocks: list[Lists] = []
        self._select(carried(workload.rates, VM_TYPES[0].fleet(2**62)))

    @property
    def load(self) -> int:
        rates, counts = self._scan.rates, self._counts
        return int(rates @ counts) + int(rates[counts > 0].sum())

    def vms(self, capacity: int) -> int:
        """How many c3.large of this capacity the naive plan needs."""
        fleet = VM_TYPES[0].fleet(capacity)
        prices = Prices.of(fleet, self._scan.period_seconds, self._scan.message_bytes)
        self._select(carried(self._scan.rates, fleet))
        demand = Demand(self._scan.rates, self._counts, lambda: iter(self._blocks))
        packing = pack("first-fit", demand, fleet, prices, never)
        assert packing is not None  # a type without a limit holds everything
        return len(packing.broker_type)

    def _select(self, topics: Topics) -> None:
        """What is selected changes only with the topics that can be carried."""
        if topics.low == self._low:
            return
        self._low = topics.low
        self._blocks = list(self._scan.lists(topics, self._rule))
        self._counts = self._scan.count(topics, self._rule)
