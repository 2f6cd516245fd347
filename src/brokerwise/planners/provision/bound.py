"""What every plan must cost at least.

Two bounds: `paper` is Algorithm 5 of Setty et al. (ICDCS 2014); `certified` is ours,
and is what a plan's gap is measured against.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor

import numpy as np

from brokerwise.kernels.ascent import first_sums, receptions, weights_of
from brokerwise.kernels.selection import Survey, Topics
from brokerwise.model.fleet import Cost, Fleet, Prices
from brokerwise.planners.provision.cover import cover_bound
from brokerwise.planners.provision.scan import Scan

MOST_ROUNDS = 8
# Pairs that are looked at to ascend, over all rounds, unless rounds are asked for.
WORK = 700_000_000
# A bound on the load this close to what was chosen is not worth a round; where a round
# takes long, neither is one less close that puts the cost as close.
CLOSE, CLOSE_IF_LARGE = 0.001, 0.01
LARGE = 40_000_000
# Rounds that move shares by fewer bits move nothing.
STILL = 0.005
# Far above what adding up floating-point numbers can be off by.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Traffic:
    """What a selection sends, and what one broker of any size would receive."""

    outgoing: int
    incoming: int


@dataclass(frozen=True)
class Bound:
    """Of all plans: the least total load, what it is made of, and the least cost.

    `rounds` is how many rounds of ascent were made; 0 is the plain bound. `reserved`
    says of a capacity how much load brokers of no more than that cannot carry.
    """

    load: int
    outgoing: int
    incoming: int
    rounds: int
    reserved: tuple[tuple[int, int], ...] = ()

    def cost(self, fleet: Fleet, prices: Prices) -> float:
        """The least cost in dollars.

        What is known of incoming and outgoing traffic alone is at their prices; the
        rest of the least load is at the lower of them.
        """
        rest = max(0, self.load - self.outgoing - self.incoming)
        bandwidth = (
            self.outgoing * prices.outgoing
            + self.incoming * prices.incoming
            + rest * min(prices.incoming, prices.outgoing)
        )
        return self._rent(fleet, prices) + bandwidth * (1 - ROUNDING)

    def is_met_by(
        self, cost: Cost, incoming: int, outgoing: int, fleet: Fleet, prices: Prices
    ) -> bool:
        """Whether a plan has the least load and rent: then nothing is left to prove,
        though rounding keeps `cost` below what the plan costs."""
        same = (incoming, outgoing) == (self.incoming, self.outgoing)
        if prices.incoming == prices.outgoing:
            same = incoming + outgoing == self.load
        return same and cost.brokers <= self._rent(fleet, prices) * (1 + ROUNDING)

    def _rent(self, fleet: Fleet, prices: Prices) -> float:
        """The least for brokers: of all types, and of those that large topics need."""
        rent = cover_bound(self.load, fleet, prices)
        for capacity, load in self.reserved:
            larger = [i for i, kind in enumerate(fleet) if kind.capacity > capacity]
            part = replace(
                fleet, broker_types=tuple(fleet.broker_types[i] for i in larger)
            )
            rents = replace(prices, brokers=tuple(prices.brokers[i] for i in larger))
            rent = max(rent, cover_bound(load, part, rents))
        return rent


def paper_bound(survey: Survey) -> Bound:
    """Every subscriber is sent its need, or the least of its topics if that is more."""
    return Bound(survey.paper, survey.paper, 0, 0)


def plain_bound(topics: Topics, survey: Survey, fleet: Fleet) -> Bound:
    """The least that can be sent, and topics that a subscriber needs received."""
    received = receptions(topics, survey, fleet.largest_capacity)
    incoming = int(topics.rates @ received)
    load = survey.outgoing + incoming
    needed = np.cumsum(topics.rates * (survey.forced + received))
    reserved = []
    for capacity in sorted({kind.capacity for kind in fleet})[:-1]:
        # Topics go by descending rate: those too large for it are the first.
        number = int(np.searchsorted(-topics.rates, -(capacity // 2)))
        number = min(number, topics.high)
        if number > topics.low:
            before = needed[topics.low - 1] if topics.low else 0
            reserved.append((capacity, int(needed[number - 1] - before)))
    return Bound(load, survey.outgoing, incoming, 0, tuple(reserved))


def certified_bound(
    scan: Scan,
    topics: Topics,
    survey: Survey,
    fleet: Fleet,
    chosen: Traffic,
    rounds: int | None,
    stop: Callable[[], bool],
) -> Bound:
    """The plain bound, raised by ascent while it is not close to what was chosen."""
    prices = Prices.of(fleet, scan.period_seconds, scan.message_bytes)
    best = plain_bound(topics, survey, fleet)
    limit = _most_rounds(scan.pairs) if rounds is None else rounds
    large = scan.pairs > LARGE
    sums = first_sums(survey)
    for number in range(1, limit + 1):
        if stop() or (rounds is None and _close(best, chosen, fleet, prices, large)):
            break
        weights = weights_of(topics, survey, fleet.largest_capacity, sums, number)
        if weights.bits < STILL:
            break
        value, sums = scan.ascend(topics, weights, first=number == 1)
        found = floor(value * (1 - ROUNDING))
        best = replace(best, load=max(best.load, found), rounds=number)
    return best


def _close(
    bound: Bound, chosen: Traffic, fleet: Fleet, prices: Prices, large: bool
) -> bool:
    load = chosen.outgoing + chosen.incoming
    if bound.load >= load * (1 - CLOSE):
        return True
    least = Bound(load, chosen.outgoing, chosen.incoming, 0).cost(fleet, prices)
    near = bound.cost(fleet, prices) >= least * (1 - CLOSE)
    return large and near and bound.load >= load * (1 - CLOSE_IF_LARGE)


def _most_rounds(pairs: int) -> int:
    return int(np.clip(WORK // max(pairs, 1), 0, MOST_ROUNDS))
