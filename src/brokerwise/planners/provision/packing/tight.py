"""`tight`: brokers filled almost exactly, topics cut where it costs least.

A topic may be cut at the price of its rate once more for every further broker. So
the fleet is the cheapest one that covers the load; topics go into it by descending
rate, each whole on the roomiest broker, and are cut only where they do not fit: what
comes last and is cut has the smallest rates.
"""

from collections.abc import Callable

from brokerwise.planners.provision.packing.attempt import Packer
from brokerwise.planners.provision.packing.field import Budget, Field, Key
from brokerwise.planners.provision.packing.mix import Mix, Mixes, cheaper_types
from brokerwise.planners.provision.packing.pieces import Demand, Pieces
from brokerwise.planners.provision.packing.steps import (
    Counter,
    by_rate,
    by_volume,
    custom,
    whole,
)

# Topics and pieces placed in all tries together; one or two seconds.
WORK = 24_000_000
# Tries to improve the order of one attempt, where topics are few.
TRIES = 2_000
# Mixes of brokers that are looked at, and that are packed into.
MIXES, ATTEMPTS = 40, 12


def tight(
    demand: Demand,
    counter: Counter,
    stop: Callable[[], bool],
    work: int | None = WORK,
) -> Pieces | None:
    """The cheapest packing found; never dearer than `custom`, which is tried too.

    O(topics log brokers) for each of a few tries, and further tries while `work`
    lasts: near the optimum where topics are few, near the bound where they are many.
    None if the fleet's limits leave no packing that was found. With `work` None it
    goes on until `stop`, or until no mix of brokers promises more.
    """
    search = _Search(Field(demand, counter), Budget(work, stop))
    search.dive()
    tries = TRIES
    search.climb(tries)
    while work is None and not stop() and not search.is_over:
        tries *= 2
        search.climb(tries)
    return search.best


class _Search:
    """The best packing so far; `is_over` once no mix promises a better one."""

    def __init__(self, field: Field, budget: Budget) -> None:
        self._field, self._budget = field, budget
        self._demand, self._counter = field.demand, field.counter
        self.best: Pieces | None = None
        self._best_key: Key | None = None
        self.is_over = False
        self._whole_offered = False
        self._least_extra = field.least_extra(field.counter.fleet.largest_capacity)
        self._volume = by_volume(self._demand)
        self._packer = Packer(
            field, by_rate(self._demand), self._volume, budget, self._offer
        )
        self._offer(custom(self._demand, self._counter, self._volume))

    def dive(self) -> None:
        """Pack into ever larger mixes until one does, to have a cost to better."""
        mixes = self._mixes()
        for _ in range(ATTEMPTS):
            mix = mixes.next()
            if mix is None or not self._promises(mix, self._least_extra):
                return
            unplaced, rate = self._short(mixes, mix), 0
            if unplaced <= 0:
                unplaced, rate = self._attempt(mixes, mix, 0)
            if not unplaced or not self._may_go_on():
                return
            mixes.add_more(unplaced, rate)

    def climb(self, tries: int) -> None:
        """Pack into the mixes that could be better than the best, cheapest first,
        with so many tries for each."""
        mixes = self._mixes()
        attempts = 0
        for _ in range(MIXES):
            mix = mixes.next()
            if mix is None or not self._promises(mix, self._least_extra):
                self.is_over = not attempts
                return
            mixes.add_larger()
            if not self._promises(mix, self._least_extra_of(mixes, mix)):
                continue
            unplaced, rate = self._short(mixes, mix), 0
            if unplaced <= 0:
                if attempts == ATTEMPTS or not self._may_go_on():
                    return
                unplaced, rate = self._attempt(mixes, mix, tries)
                attempts += 1
            mixes.add_others()
            mixes.add_more(unplaced // 2, rate)

    def _mixes(self) -> Mixes:
        load, fleet = self._field.load(self._least_extra), self._counter.fleet
        if len(fleet.broker_types) == 1:
            # Large topics may need more brokers than the load does.
            capacity = fleet.largest_capacity
            load = max(load, (self._field.least_brokers(capacity) - 1) * capacity + 1)
        return Mixes(self._demand, self._counter, load)

    def _least_extra_of(self, mixes: Mixes, mix: Mix) -> int:
        return self._field.least_extra(int(mixes.brokers(mix)[1][0]))

    def _short(self, mixes: Mixes, mix: Mix) -> int:
        """The load that a mix is known to be too small for."""
        capacity = int(mixes.brokers(mix)[1].sum())
        return self._field.load(self._least_extra_of(mixes, mix)) - capacity

    def _attempt(self, mixes: Mixes, mix: Mix, tries: int) -> tuple[int, int]:
        """Pack into a mix; returns the load left over, and its largest rate."""
        types, capacities = mixes.brokers(mix)
        enough = self._least_extra_of(mixes, mix) + self._field.negligible
        made = self._packer.attempt(types, capacities, enough, tries)
        if made.rank > (0, enough) and not self._whole_offered:
            self._whole_offered = True
            self._offer(whole(self._demand, self._counter, self._volume))
        rate = int(self._demand.rates[made.lost]) if made.unplaced else 0
        return made.unplaced, rate

    def _offer(self, pieces: Pieces | None) -> None:
        """Keep a packing if it is better than the best."""
        if pieces is None:
            return
        if len(self._counter.order) > 1:
            pieces = cheaper_types(pieces, self._demand, self._counter)
        key = self._field.key_of(pieces)
        if self._best_key is None or key < self._best_key:
            self.best, self._best_key = pieces, key

    def _promises(self, mix: Mix, least_extra: int) -> bool:
        """Whether packing into this mix could better the best by enough to matter."""
        extra = least_extra + self._field.negligible
        return self._best_key is None or (
            self._field.key(list(mix), extra) < self._best_key
        )

    def _may_go_on(self) -> bool:
        return self.best is None or self._budget.allows(len(self._volume))
