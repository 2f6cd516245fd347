"""Every selection with every packing, of which the cheapest is kept; and what may be
chosen about that.

No algorithm in the box is always better than another: where topics are large against
brokers, even `random` beats selections that send less. So all are tried where that is
quick, and the plan says which were.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from brokerwise.kernels.selection import Topics
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never
from brokerwise.planners.provision.bound import Bound
from brokerwise.planners.provision.choice import Choice
from brokerwise.planners.provision.cover import fewest_brokers
from brokerwise.planners.provision.packing.attempt import Field, Key
from brokerwise.planners.provision.packing.pack import PACKINGS, pack
from brokerwise.planners.provision.packing.pieces import Counter, Demand, Packing
from brokerwise.planners.provision.packing.tight import WORK

PAIRS = 2_000_000
"""Pairs up to which everything is tried; beyond, one selection and one packing."""

SELECTIONS = ("random", "greedy", "exact", "shared")
_BY_TOPIC = ("most-free", "grouped-largest", "grouped")

CHEAPEST = "cheapest"
"""Instead of a name: every one is tried, and the cheapest is kept."""


class Combination(NamedTuple):
    """A selection and a packing."""

    selection: str
    packing: str

    @property
    def name(self) -> str:
        return f"{self.selection}+{self.packing}"


@dataclass(frozen=True, eq=False)
class PortfolioResult:
    """The cheapest combination, and what became of the others.

    `ruled_out` are proven to be no cheaper. Without a packing none was found.
    """

    combination: Combination
    choice: Choice
    packing: Packing | None
    tried: tuple[Combination, ...]
    ruled_out: tuple[Combination, ...]
    not_tried: tuple[Combination, ...]

    def record(self) -> dict[str, object]:
        """What a plan says of it; of one that had no choice only its names."""
        names = self.combination._asdict()
        if len(self.tried) + len(self.ruled_out) + len(self.not_tried) == 1:
            return names
        groups = ("tried", "ruled_out", "not_tried")
        return names | {key: [c.name for c in getattr(self, key)] for key in groups}


def in_order(
    selections: Sequence[str], packings: Sequence[str]
) -> Iterator[Combination]:
    """Combinations in the order in which they are tried; the first of equals is kept.

    The first is the one that is best most often. Then what takes no time, then
    searches, and at last what looks at every pair.
    """
    first = Combination(selections[0], packings[0])
    yield first
    for some in (_BY_TOPIC, ("tight",), ("custom",), ("first-fit",)):
        for selection in selections:
            for packing in some:
                combination = Combination(selection, packing)
                if packing in packings and combination != first:
                    yield combination


@dataclass(eq=False)
class Portfolio:
    """A search for the cheapest combination for one fleet.

    `choose` gives what a selection serves, `demand` what is to be packed then.
    """

    topics: Topics
    fleet: Fleet
    prices: Prices
    bound: Bound
    stop: Stop
    choose: Callable[[str], Choice]
    demand: Callable[[Choice], Demand]
    _fields: dict[str, Field] = field(default_factory=dict)
    _best: tuple[Key, Combination, Packing] | None = None
    _is_proven: bool = False

    def cheapest(self, asked: Sequence[Combination], pairs: int) -> PortfolioResult:
        """Try combinations one after the other; at least the first.

        If none finds a way into the limits of the fleet, others are tried that were
        not asked for, until one does.
        """
        tried: list[Combination] = []
        ruled_out: list[Combination] = []
        not_tried: list[Combination] = []
        # Who has given one combination a time wants the search to use it.
        work = None if self.stop is not never and len(asked) == 1 else WORK
        for combination in asked:
            if tried and self._is_too_much(combination, pairs):
                not_tried.append(combination)
            elif self._cannot_be_better(combination, tried):
                ruled_out.append(combination)
            else:
                self._try(combination, work)
                tried.append(combination)
        for name, selection in product([*PACKINGS][::-1], SELECTIONS[::-1]):
            combination = Combination(selection, name)
            if self._best is not None or self._is_too_much(combination, pairs):
                break
            if combination not in asked and not self._cannot_be_better(
                combination, tried
            ):
                self._try(combination, WORK)
                tried.append(combination)
        if self._best is not None and self.stop is not never and len(asked) > 1:
            self._go_on(asked)
        combination, packing = asked[0], None
        if self._best is not None:
            _, combination, packing = self._best
        return PortfolioResult(
            combination,
            self.choose(combination.selection),
            packing,
            tuple(tried),
            tuple(ruled_out),
            tuple(not_tried),
        )

    def _is_too_much(self, combination: Combination, pairs: int) -> bool:
        """No time is left; or there are many pairs, and a packing was found or this
        one would look at each of them."""
        many = pairs > PAIRS
        slow = combination.packing == "first-fit"
        return self.stop() or (many and (slow or self._best is not None))

    def _go_on(self, asked: Sequence[Combination]) -> None:
        """Search on from the best selection until it is time to stop."""
        assert self._best is not None
        further = Combination(self._best[1].selection, "tight")
        if further in asked and not self._is_proven and not self.stop():
            self._try(further, None)

    def _cannot_be_better(
        self, combination: Combination, tried: Sequence[Combination]
    ) -> bool:
        selection, packing = combination
        if packing == "custom" and Combination(selection, "tight") in tried:
            return True  # `tight` tries it
        if self._best is None or not tried:
            return False
        return self._is_proven or self._field(selection).least >= self._best[0]

    def _try(self, combination: Combination, work: int | None) -> None:
        selection, packing = combination
        field = self._field(selection)
        found = pack(packing, field.demand, self.fleet, self.prices, self.stop, work)
        if found is None:
            return
        rates = self.topics.rates
        incoming, outgoing = found.incoming(rates), found.outgoing(rates)
        numbers = found.brokers_of_types(len(self.fleet.broker_types))
        cost = self.prices.cost(numbers, incoming, outgoing)
        key = (cost.total, sum(numbers), incoming + outgoing)
        if self._best is None or key < self._best[0]:
            self._best = key, combination, found
            self._is_proven = sum(numbers) == fewest_brokers(
                self.bound.load, self.fleet
            ) and self.bound.is_met_by(
                cost, incoming, outgoing, self.fleet, self.prices
            )

    def _field(self, selection: str) -> Field:
        if selection not in self._fields:
            demand = self.demand(self.choose(selection))
            self._fields[selection] = Field(demand, Counter(self.fleet, self.prices))
        return self._fields[selection]


@dataclass(frozen=True)
class Options:
    """How to plan; every combination of selection and packing works.

    What is `cheapest` is tried with everything, up to 2 million pairs; beyond, it is
    `shared` or `tight`, and the plan lists what was not tried.

    Attributes
    ----------
    rounds
        Of ascent for the certified bound, at most; None leaves it to the size of
        the workload.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    selection: str = CHEAPEST
    packing: str = CHEAPEST
    rounds: int | None = None
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("selection", self.selection, (*SELECTIONS, CHEAPEST))
        check_name("packing", self.packing, (*PACKINGS, CHEAPEST))
        if self.rounds is not None:
            checked_count(self.rounds, "rounds")
        checked_count(self.seed, "seed")

    @property
    def combinations(self) -> list[Combination]:
        """Those asked for, in the order in which they are tried."""
        everything = self.selection == CHEAPEST, self.packing == CHEAPEST
        selections = SELECTIONS[::-1] if everything[0] else (self.selection,)
        packings = tuple(PACKINGS)[::-1] if everything[1] else (self.packing,)
        return list(in_order(selections, packings))
