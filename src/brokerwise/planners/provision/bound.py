"""What every plan must cost at least.

Two bounds: `paper` is Algorithm 5 of Setty et al. (ICDCS 2014); `certified` is ours,
and is what a plan's gap is measured against.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor

import numpy as np

from brokerwise.kernels.ascent import receptions, weights_of
from brokerwise.kernels.selection import EVEN_SHARE, Survey, Topics
from brokerwise.model.cost import Prices
from brokerwise.model.fleet import Fleet
from brokerwise.planners.provision.cover import cover_bound
from brokerwise.planners.provision.scan import Scan

MOST_ROUNDS = 8
# Pairs that are looked at to ascend, over all rounds, unless rounds are asked for.
WORK = 300_000_000
# A bound on the load this close to what was selected is not worth a round; where a
# round takes long, neither is one less close.
CLOSE, CLOSE_IF_LARGE = 0.001, 0.01
LARGE = 40_000_000
# Far above what adding up floating-point numbers can be off by.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Bound:
    """Of all plans: the least total load, what it is made of, and the least cost.

    `rounds` is how many rounds of ascent were made; 0 is the plain bound.
    """

    load: int
    outgoing: int
    incoming: int
    rounds: int

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
        return cover_bound(self.load, fleet, prices) + bandwidth * (1 - ROUNDING)


def paper_bound(survey: Survey) -> Bound:
    """Every subscriber is sent its need, or the least of its topics if that is more."""
    return Bound(survey.paper, survey.paper, 0, 0)


def plain_bound(topics: Topics, survey: Survey, fleet: Fleet) -> Bound:
    """The least that can be sent, and topics that somebody needs received."""
    received = receptions(topics, survey, fleet.largest_capacity)
    incoming = int(topics.rates @ received)
    return Bound(survey.outgoing + incoming, survey.outgoing, incoming, 0)


def certified_bound(
    scan: Scan,
    topics: Topics,
    survey: Survey,
    fleet: Fleet,
    load: int,
    rounds: int | None,
    stop: Callable[[], bool],
) -> Bound:
    """The plain bound, raised by ascent while it is not close to `load`."""
    best = plain_bound(topics, survey, fleet)
    limit = _most_rounds(scan.pairs) if rounds is None else rounds
    close = CLOSE_IF_LARGE if scan.pairs > LARGE else CLOSE
    sums = survey.followers * EVEN_SHARE
    for number in range(1, limit + 1):
        if stop() or (rounds is None and best.load >= load * (1 - close)):
            break
        weights = weights_of(topics, survey, fleet.largest_capacity, sums, number)
        value, sums = scan.ascend(topics, weights, first=number == 1)
        found = floor(value * (1 - ROUNDING))
        best = Bound(max(best.load, found), best.outgoing, best.incoming, number)
    return best


def _most_rounds(pairs: int) -> int:
    return int(np.clip(WORK // max(pairs, 1), 0, MOST_ROUNDS))
