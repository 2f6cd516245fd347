"""A plan for what a workload has become, close to the plan that there is.

What is served stays as it was where that is enough and not much dearer than a new
choice (`kernels.keeping`); where it is served stays wherever capacities allow
(`repack`). Besides, everything is packed anew and the brokers are matched to those
that there were (`rematch`). Of these the cheapest is taken that keeps within the
moves that are allowed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from brokerwise.kernels.keeping import Tally
from brokerwise.model.arrays import Int64s
from brokerwise.model.cost import Prices
from brokerwise.model.fleet import Fleet
from brokerwise.planners.provision.layout import Former, Layout
from brokerwise.planners.provision.packing.pack import Packing
from brokerwise.planners.provision.rematch import rematched
from brokerwise.planners.provision.repack import repacked

# Costs that differ by no more than this are equal: then fewer changes decide.
EQUAL = 0.001
# Packing anew moves about everything: not tried for fewer moves than this part.
WORTH_PACKING = 0.25

Pack = Callable[[], Packing | None]


@dataclass(frozen=True, eq=False)
class Served:
    """A selection next to a former plan: what it serves, and how to pack it anew.

    `held` says that it was chosen with regard to what was served before.
    """

    tally: Tally
    pack: Pack
    held: bool

    @property
    def kept(self) -> int:
        """Pairs that were served before, too."""
        return int(self.tally.kept.sum())

    @property
    def pairs(self) -> int:
        return int(self.tally.counts.sum())


@dataclass(frozen=True, eq=False)
class Proposal:
    """A way to go on.

    `brokers_from` is the former number of each broker, -1 for new ones; `moves` is
    how many pairs are on another broker than before, at most; `changes` counts in
    addition those that are no longer served and those that are now.
    """

    served: Served
    packing: Packing
    brokers_from: Sequence[int]
    cost: float
    moves: int
    changes: int


def replan(
    former: Former,
    selections: Sequence[Served],
    rates: Int64s,
    fleet: Fleet,
    prices: Prices,
    most: int | None,
) -> tuple[Proposal | None, Proposal | None]:
    """The cheapest proposal with no more than `most` moves, and the calmest of all
    (None: the fleet's limits leave no proposal at all). Its moves are counted from
    above, so it may keep within the limit even if there is no other that does.

    Without a limit all selections are compared. With one, what is served is to stay
    too: the first selection from which there is a way within the limit is taken.
    Costs that are equal to a thousandth count as equal; then fewer changes decide.
    """
    offers: list[Proposal] = []
    found: list[Proposal] = []
    for served in selections:
        offers += _proposals(former, served, rates, fleet, prices, most)
        found = [o for o in offers if most is None or o.moves <= most]
        if found and most is not None:
            break
    if not offers and most is not None:  # what moves about everything is a way, too
        for served in selections:
            offers += _proposals(former, served, rates, fleet, prices, None)
    calmest = min(offers, key=lambda o: (o.moves, o.cost), default=None)
    if not found:
        return None, calmest
    limit = min(o.cost for o in found) * (1 + EQUAL)
    good = [o for o in found if o.cost <= limit]
    return min(good, key=lambda o: (o.changes, o.cost)), calmest


def _proposals(
    former: Former,
    served: Served,
    rates: Int64s,
    fleet: Fleet,
    prices: Prices,
    most: int | None,
) -> Iterator[Proposal]:
    tally = served.tally
    start = Layout.of(
        former, tally.counts, tally.size, tally.kept, rates, fleet, prices
    )
    churn = served.pairs + former.pairs - 2 * served.kept

    def proposal(packing: Packing, origins: Sequence[int], moves: int) -> Proposal:
        brokers = packing.brokers_of_types(len(fleet.broker_types))
        incoming, outgoing = packing.incoming(rates), packing.outgoing(rates)
        cost = prices.cost(brokers, incoming, outgoing).total
        return Proposal(served, packing, origins, cost, moves, moves + churn)

    for whole in (False, True):
        for layout in repacked(start, most, whole=whole):
            yield proposal(*layout.packing(), layout.moves)
    if most is None or most >= WORTH_PACKING * served.kept:
        packing = served.pack()
        if packing is not None:
            yield proposal(*rematched(start, packing))
