"""The cheapest fleet that satisfies every subscriber.

Stage 1 chooses which pairs are served (`choice`), stage 2 on which brokers
(`packing`), and a bound says how far that can be from the best (`bound`). The stages
and their order are Setty et al., ICDCS 2014; `shared`, `tight` and the certified
bound are ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from brokerwise.kernels.selection import Survey, Topics
from brokerwise.model.arrays import Int64s
from brokerwise.model.cost import Prices
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.units import checked_count
from brokerwise.model.workload import Workload
from brokerwise.planners.control import never
from brokerwise.planners.provision.bound import (
    Bound,
    Traffic,
    certified_bound,
    paper_bound,
)
from brokerwise.planners.provision.choice import Choice, carried, choose, dearness
from brokerwise.planners.provision.draft import Draft
from brokerwise.planners.provision.options import SELECTIONS, Options
from brokerwise.planners.provision.packing.pack import (
    PACKINGS,
    WORK,
    Demand,
    Packing,
    pack,
)
from brokerwise.planners.provision.refusal import (
    Refusal,
    not_found,
    out_of_reach,
    too_small,
)
from brokerwise.planners.provision.scan import MemoryScan, Scan

LARGEST_RATE = 2**60
# Beyond, `first-fit`, which looks at every pair, is tried only if it was asked for.
FIRST_FIT_PAIRS = 2_000_000


@dataclass(frozen=True)
class Problem:
    """Serve every subscriber of a workload its threshold, or all that it wants."""

    workload: Workload
    fleet: Fleet
    threshold: int

    def __post_init__(self) -> None:
        threshold = checked_count(self.threshold, "threshold")
        object.__setattr__(self, "threshold", threshold)


def solve(problem: Problem, options: Options | None = None) -> Plan:
    """The plan for a workload in memory.

    No broker is loaded beyond its capacity and every subscriber gets its threshold
    (or all that it wants). Same input and seed, same plan. O(pairs) a pass, of which
    there are up to 4 to select and 8 to bound; packing is O(topics log brokers).
    """
    options = options or Options()
    scan = MemoryScan(problem.workload, problem.threshold)
    draft = Provisioning(scan, problem.threshold, options).draft(problem.fleet)
    with options.stage("lists"):
        return draft.plan(scan.selection(draft.topics, draft.choice.rule))


class Provisioning:
    """Drafts for one workload and threshold; what fleets have in common is kept."""

    def __init__(self, scan: Scan, threshold: int, options: Options) -> None:
        self._scan, self._threshold, self._options = scan, threshold, options
        self._topics: dict[int, Topics] = {}
        self._surveys: dict[int, Survey] = {}
        self._choices: dict[tuple[int, str, float], Choice] = {}
        self._bounds: dict[tuple[int, Fleet], Bound] = {}

    def draft(self, fleet: Fleet) -> Draft:
        """Decide everything for a fleet but write down no pairs."""
        options, scan = self._options, self._scan
        _refuse_enormous(scan.rates)
        prices = Prices.of(fleet, scan.period_seconds, scan.message_bytes)
        topics = self._carried(fleet)
        with options.stage("select"):
            survey = self._survey(topics)
            choice = self._choice(topics, fleet, prices, options.selection)
        draft = partial(
            Draft,
            topics=topics,
            fleet=fleet,
            prices=prices,
            period_seconds=scan.period_seconds,
            threshold=self._threshold,
            algorithm=options.algorithm,
            seed=options.seed,
            survey=survey,
            choice=choice,
        )
        asked = {"selection": options.selection, "packing": options.packing}
        if survey.unreachable:
            return draft(options=asked, refusal=out_of_reach(scan, survey, fleet))
        with options.stage("bound"):
            bound = self._bound(topics, fleet, survey, choice)
        short = too_small(bound, fleet)
        if short is not None:
            return draft(options=asked, refusal=short)
        with options.stage("pack"):
            found = self._search(topics, fleet, prices, bound)
        if options.stop():
            asked["stopped"] = "time"  # so it need not be the same next time
        if isinstance(found, Refusal):
            return draft(options=asked, refusal=found, bound=bound)
        way = {"selection": found.selection, "packing": found.packed_by}
        return replace(
            draft(options=asked | way | {"rounds": bound.rounds}),
            algorithm=f"{found.selection}+{found.packed_by}",
            choice=found.choice,
            packing=found.packing,
            bound=bound,
            paper=paper_bound(survey),
            tried=found.tried,
        )

    def _search(
        self, topics: Topics, fleet: Fleet, prices: Prices, bound: Bound
    ) -> "_Found | Refusal":
        """The packing that was asked for; if it finds no way into the fleet's limits,
        the first other way that does."""
        stop, tried = self._options.stop, list[str]()
        for selection, packing in self._ways():
            choice = self._choice(topics, fleet, prices, selection)
            packed = self.pack(packing, topics, fleet, prices, choice)
            if packed is not None:
                return _Found(selection, packing, choice, packed, tuple(tried))
            tried.append(f"{selection}+{packing}")
            if stop():
                return not_found(bound, fleet, tried, None, stopped=True)
        enough = self._without_limits(topics, fleet, prices)
        return not_found(bound, fleet, tried, enough, stopped=False)

    def _ways(self) -> Iterator[tuple[str, str]]:
        """(selection, packing): as asked, then all others, those that fill brokers
        best first."""
        options = self._options
        selections = dict.fromkeys((options.selection, *reversed(SELECTIONS)))
        for packing in dict.fromkeys((options.packing, *reversed(list(PACKINGS)))):
            asked = packing == options.packing
            if asked or packing != "first-fit" or self._scan.pairs <= FIRST_FIT_PAIRS:
                yield from ((selection, packing) for selection in selections)

    def _without_limits(
        self, topics: Topics, fleet: Fleet, prices: Prices
    ) -> list[int] | None:
        """The fewest brokers of each type found to do, if there were enough of each."""
        free = tuple(replace(kind, count=None) for kind in fleet)
        unlimited = replace(fleet, broker_types=free)
        found = []
        for selection in SELECTIONS:
            choice = self._choice(topics, fleet, prices, selection)
            packed = self.pack("tight", topics, unlimited, prices, choice)
            if packed is not None:
                found.append(packed.brokers_of_types(len(free)))
        return min(found, key=sum, default=None)

    def choice(self, fleet: Fleet, selection: str) -> tuple[Topics, Choice]:
        """What a selection serves, with the topics that the fleet can carry."""
        prices = Prices.of(fleet, self._scan.period_seconds, self._scan.message_bytes)
        topics = self._carried(fleet)
        return topics, self._choice(topics, fleet, prices, selection)

    def pack(
        self, packing: str, topics: Topics, fleet: Fleet, prices: Prices, choice: Choice
    ) -> Packing | None:
        lists = partial(self._scan.lists, topics, choice.rule)
        demand = Demand(topics.rates, choice.counts, lists)
        stop = self._options.stop
        # Who has given it a time wants the search to use it.
        work = WORK if stop is never else None
        return pack(packing, demand, fleet, prices, stop, work)

    def _carried(self, fleet: Fleet) -> Topics:
        """The same object for fleets that carry the same: scans share what they know
        of it with tasks."""
        topics = carried(self._scan.rates, fleet)
        return self._topics.setdefault(topics.low, topics)

    def _survey(self, topics: Topics) -> Survey:
        if topics.low not in self._surveys:
            self._surveys[topics.low] = self._scan.survey(topics)
        return self._surveys[topics.low]

    def _choice(
        self, topics: Topics, fleet: Fleet, prices: Prices, selection: str
    ) -> Choice:
        dear = dearness(fleet, prices) if selection == "shared" else 1.0
        key = (topics.low, selection, dear)
        if key not in self._choices:
            survey, seed = self._survey(topics), self._options.seed
            self._choices[key] = choose(
                self._scan, topics, survey, selection, seed, dear
            )
        return self._choices[key]

    def _bound(
        self, topics: Topics, fleet: Fleet, survey: Survey, choice: Choice
    ) -> Bound:
        key = (topics.low, fleet)
        if key not in self._bounds:
            rates = topics.rates
            self._bounds[key] = certified_bound(
                self._scan,
                topics,
                survey,
                fleet,
                Traffic(choice.outgoing(rates), choice.incoming(rates)),
                self._options.rounds,
                self._options.stop,
            )
        return self._bounds[key]


@dataclass(frozen=True, eq=False)
class _Found:
    """The way that found a packing, and those that had been `tried` in vain."""

    selection: str
    packed_by: str
    choice: Choice
    packing: Packing
    tried: tuple[str, ...]


def _refuse_enormous(rates: Int64s) -> None:
    """Sums of a few rates, and their doubles, must fit in 64 bits everywhere."""
    if len(rates) and rates[0] > LARGEST_RATE:
        raise InputError(
            f"rate of the largest topic: found {rates[0]:,}, expected at most "
            f"{LARGEST_RATE:,} (2^60)",
            hint="Count in larger units.",
        )
