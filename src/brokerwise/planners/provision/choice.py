"""Stage 1: which pairs are served."""

from dataclasses import dataclass
from math import inf

import numpy as np

from brokerwise.kernels.selection import Rule, Survey, Topics
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.planners.provision.scan import Scan

# Pairs that `shared` looks at, over all its passes after the first, and how many of
# those there are at most from one start; one there always is.
WORK = 40_000_000
MOST_PASSES = 3
# A pass that saves less, as a share of all traffic, is followed by no other.
WORTH = 0.0005
# Not worth a pass: incoming traffic of topics that none needs, as a share of all.
NEGLIGIBLE = 0.002


@dataclass(frozen=True, eq=False)
class Choice:
    """What is served: `rule` says which pairs, `counts` how many of each topic."""

    rule: Rule
    counts: Int64s

    def outgoing(self, rates: Int64s) -> int:
        return int(rates @ self.counts)

    def incoming(self, rates: Int64s) -> int:
        """What one broker of any size would receive: each topic once."""
        return int(rates[self.counts > 0].sum())


def carried(rates: Int64s, fleet: Fleet) -> Topics:
    """Which topics the largest broker can carry: one pair is received and sent."""
    low = int(np.searchsorted(-rates, -(fleet.largest_capacity // 2), side="left"))
    high = int(np.searchsorted(-rates, 0, side="left"))
    return Topics(rates, min(low, high), high)


def choose(
    scan: Scan,
    topics: Topics,
    survey: Survey,
    selection: str,
    seed: int,
    dearness: float,
) -> Choice:
    """The pairs that a selection serves.

    `dearness` is what a unit received costs, in units sent; only `shared` minds.
    """
    if selection == "exact":
        return Choice(Rule("exact"), survey.counts)
    if selection == "shared":
        return _shared(scan, topics, survey, dearness)
    rule = Rule(selection, seed)
    return Choice(rule, scan.count(topics, rule))


def dearness(fleet: Fleet, prices: Prices) -> float:
    """What a unit that a broker receives costs, in units that it sends.

    Both take up the same capacity, which is worth its share of the rent.
    """
    rent = min(
        usd / kind.capacity for usd, kind in zip(prices.brokers, fleet, strict=True)
    )
    sent = prices.outgoing + rent
    return (prices.incoming + rent) / sent if sent else 1.0


def _shared(scan: Scan, topics: Topics, survey: Survey, dearness: float) -> Choice:
    """Prefer topics that others get too: each is also received at least once.

    A pair is priced at its rate and its part of the topic's incoming traffic, as the
    pass before has shared it; of topics that a subscriber needs anyway it has no part.
    Workloads that are small enough are also begun from what topics could be shared
    by, not only from what they are. The best pass is kept, so this is never worse
    than `exact` before packing.
    """
    rates = topics.rates
    best = Choice(Rule("exact"), survey.counts)
    if _optional_share(rates, survey, best) < NEGLIGIBLE:
        return best
    passes = max(1, WORK // max(scan.pairs, 1))
    hoped = np.sqrt(np.maximum(survey.counts, 0.25) * survey.followers)
    for start in (survey.counts, hoped):
        sharing, before = start, inf
        for _ in range(min(passes, MOST_PASSES)):
            rule = Rule("priced", prices=_prices(rates, survey, sharing, dearness))
            found = Choice(rule, scan.count(topics, rule))
            passes -= 1
            burden = _burden(rates, found, dearness)
            if burden < _burden(rates, best, dearness):
                best = found
            if burden > before * (1 - WORTH):
                break
            sharing, before = found.counts, burden
    return best


def _prices(
    rates: Int64s, survey: Survey, sharing: Int64s | Float64s, dearness: float
) -> Float64s:
    part = np.where(survey.forced > 0, 0.0, dearness / np.maximum(sharing, 0.5))
    prices: Float64s = rates * (1.0 + part)
    return prices


def _optional_share(rates: Int64s, survey: Survey, choice: Choice) -> float:
    """Incoming traffic that no subscriber forces, as a share of all traffic."""
    optional = (choice.counts > 0) & (survey.forced == 0)
    total = choice.outgoing(rates) + choice.incoming(rates)
    return float(rates[optional].sum() / total) if total else 0.0


def _burden(rates: Int64s, choice: Choice, dearness: float) -> float:
    return choice.outgoing(rates) + dearness * choice.incoming(rates)
