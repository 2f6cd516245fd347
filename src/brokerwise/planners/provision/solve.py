"""The cheapest fleet that satisfies every subscriber; what each step towards it takes
off the cost; and whether it can be had for a budget.

Stage 1 chooses which pairs are served (`choice`), stage 2 on which brokers (`packing`),
and a bound says how far that can be from the best (`bound`). The stages and their order
are Setty et al., ICDCS 2014; `shared`, `tight` and the certified bound are ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np

from brokerwise.kernels.selection import Survey, Topics
from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.model.plan import Plan, Status
from brokerwise.model.units import checked_count, checked_price
from brokerwise.model.workload import Workload
from brokerwise.planners.provision.bound import (
    Bound,
    Traffic,
    certified_bound,
    paper_bound,
)
from brokerwise.planners.provision.choice import Choice, carried, choose, dearness
from brokerwise.planners.provision.draft import (
    Draft,
    not_found,
    out_of_reach,
    too_small,
)
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand, Packing
from brokerwise.planners.provision.portfolio import SELECTIONS, Options, Portfolio
from brokerwise.planners.provision.scan import MemoryScan, Scan

LARGEST_RATE = 2**60

STEPS = (
    ("naive", "random", "first-fit"),
    ("(a)", "greedy", "first-fit"),
    ("(b)", "greedy", "grouped"),
    ("(c)", "greedy", "grouped-largest"),
    ("(d)", "greedy", "most-free"),
    ("(e)", "greedy", "custom"),
    ("ours", "shared", "tight"),
)
"""The naive plan, the optimisations (a) to (e) of the paper's figures 2 and 3, ours."""
OURS = STEPS[-1][0]


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
            asked = options.combinations
            choice = self._choice(topics, fleet, prices, asked[0].selection)
        draft = partial(
            Draft,
            topics=topics,
            fleet=fleet,
            prices=prices,
            period_seconds=scan.period_seconds,
            threshold=self._threshold,
            seed=options.seed,
            survey=survey,
            choice=choice,
        )
        refused = partial(draft, algorithm=asked[0].name, options=asked[0]._asdict())
        if survey.unreachable:
            return refused(refusal=out_of_reach(scan, survey, fleet))
        with options.stage("bound"):
            bound = self._bound(topics, fleet, survey, choice)
        short = too_small(bound, fleet)
        if short is not None:
            return refused(refusal=short)
        with options.stage("pack"):
            found = Portfolio(
                topics,
                fleet,
                prices,
                bound,
                options.stop,
                partial(self._choice, topics, fleet, prices),
                partial(self._demand, topics),
            ).cheapest(asked, scan.pairs)
        draft = partial(draft, algorithm=found.combination.name, choice=found.choice)
        record = found.record()
        if options.stop():
            record["stopped"] = "time"  # so it need not be the same next time
        if found.packing is None:
            tried = [combination.name for combination in found.tried]
            stopped = options.stop()
            enough = None if stopped else self._without_limits(topics, fleet, prices)
            refusal = not_found(bound, fleet, tried, enough, stopped=stopped)
            return draft(options=record, refusal=refusal, bound=bound)
        if found.combination not in asked:
            record["asked"] = f"{options.selection}+{options.packing}"
        return draft(
            options=record | {"rounds": bound.rounds},
            packing=found.packing,
            bound=bound,
            paper=paper_bound(survey),
        )

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
        """What a packing makes of a choice."""
        demand = self._demand(topics, choice)
        return pack(packing, demand, fleet, prices, self._options.stop)

    def _demand(self, topics: Topics, choice: Choice) -> Demand:
        lists = partial(self._scan.lists, topics, choice.rule)
        return Demand(topics.rates, choice.counts, lists)

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


def _refuse_enormous(rates: Int64s) -> None:
    """Sums of a few rates, and their doubles, must fit in 64 bits everywhere."""
    if len(rates) and rates[0] > LARGEST_RATE:
        raise InputError(
            f"rate of the largest topic: found {rates[0]:,}, expected at most "
            f"{LARGEST_RATE:,} (2^60)",
            hint="Count in larger units.",
        )


@dataclass(frozen=True)
class Step:
    """One way to plan and what it comes to; None where limits left no packing."""

    name: str
    selection: str
    packing: str
    brokers: int | None
    load: int | None
    cost: float | None


def ladder(provisioning: Provisioning, draft: Draft) -> Iterator[Step]:
    """The steps one after the other, as they are planned; the last is the draft.

    `first-fit` looks at every pair on its own, which takes most of the time.
    """
    fleet, prices, topics = draft.fleet, draft.prices, draft.topics
    for name, selection, packing in STEPS:
        if name == OURS:
            selection, packing = draft.options["selection"], draft.options["packing"]
            found = draft.packing
        else:
            _, choice = provisioning.choice(fleet, selection)
            found = provisioning.pack(packing, topics, fleet, prices, choice)
        if found is None:
            yield Step(name, selection, packing, None, None, None)
            continue
        rates, runs = topics.rates, found.placement
        incoming = int(rates[runs.topic].sum())
        outgoing = int(rates[runs.topic] @ runs.pairs)
        number = np.bincount(found.broker_type, minlength=len(fleet.broker_types))
        cost = prices.cost(number.tolist(), incoming, outgoing)
        yield Step(
            name,
            selection,
            packing,
            len(found.broker_type),
            incoming + outgoing,
            cost.total,
        )


class Answer(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def affordable(plan: Plan, budget_usd: float) -> Answer:
    """Yes if the plan costs no more than the budget, no if its bound does, else
    unknown: a better plan than this one may exist, or one though none was found."""
    budget_usd = checked_price(budget_usd, "budget")
    if plan.status is Status.UNKNOWN:
        return Answer.UNKNOWN
    if plan.objective is None or plan.bound is None:
        raise InputError("budget: an infeasible problem has no cost")
    if plan.objective <= budget_usd:
        return Answer.YES
    return Answer.NO if plan.bound > budget_usd else Answer.UNKNOWN
