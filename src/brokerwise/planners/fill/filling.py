"""Fill brokers by one of the algorithms, with a proven bound."""

from dataclasses import dataclass, replace

import numpy as np

from brokerwise.model.arrays import INT64_MAX, Int64s
from brokerwise.planners.fill.bounds import merged_bound, paper_bound
from brokerwise.planners.fill.columns.fill import fill_by_columns
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import Draft
from brokerwise.planners.fill.heuristics import HEURISTICS
from brokerwise.planners.fill.ilp import fill_by_ilp
from brokerwise.planners.fill.options import Options


@dataclass(frozen=True, eq=False)
class Filling:
    """A draft, what it is worth, and what none can exceed.

    `greedy` and `mkp` are what the heuristics reach, if they were run on the way;
    `patterns` counts those of the column generation.
    """

    draft: Draft
    value: int
    bound: int
    bound_paper: int
    stopped: bool = False
    greedy: int | None = None
    mkp: int | None = None
    patterns: int = 0


def fill_brokers(demand: Demand, capacities: Int64s, options: Options) -> Filling:
    """The most valuable pairs that brokers of these capacities can carry.

    `columns` is never worse than `greedy` and `mkp`. The certified bound of all but
    `ilp` is that of `columns`, which searches for it as long as it takes to find its
    own plan.
    """
    bandwidth = min(INT64_MAX, sum(capacities.tolist()))
    paper = paper_bound(demand, bandwidth)
    if not demand.topics:
        nothing = np.zeros(0, np.int64)
        draft = Draft(nothing.astype(np.int32), nothing.astype(np.int32), nothing)
        return Filling(draft, 0, 0, paper)
    drafts = {name: fill(demand, capacities) for name, fill in HEURISTICS.items()}
    values = {name: draft.value(demand) for name, draft in drafts.items()}
    if options.algorithm in drafts and options.bound == "paper":
        name = options.algorithm
        return Filling(drafts[name], values[name], paper, paper)
    quick = min(paper, merged_bound(demand, bandwidth, int(capacities.max())))
    begin = [drafts[name] for name in sorted(drafts, key=lambda n: -values[n])]
    if options.algorithm == "ilp":
        found = fill_by_ilp(demand, capacities, begin[0], quick, options.stop)
    else:
        found = fill_by_columns(demand, capacities, begin, quick, options)
    draft = drafts.get(options.algorithm, found.draft)
    filling = Filling(
        draft,
        draft.value(demand),
        paper if options.bound == "paper" else found.bound,
        paper,
        found.stopped,
        patterns=found.patterns,
    )
    return (
        filling
        if options.algorithm != "columns"
        else replace(filling, greedy=values["greedy"], mkp=values["mkp"])
    )
