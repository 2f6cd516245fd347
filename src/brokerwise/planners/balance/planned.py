"""Our own policy: as low a maximum load as few moves can make.

Brokers are relieved down to a level, the lowest that the budget allows, in two manners:
each session to where the load is least after it; and to where it adds least, and those
that share topics with it follow. Then moves, swaps and moves taken back improve what is
left. What the paper's migrations would do is among the starts. Loads are exact after
every step.
"""

from brokerwise.kernels.balance_paper import COOL, GOING_ON, SPENT, STUCK, verdict
from brokerwise.kernels.balance_state import fullest
from brokerwise.planners.balance.options import Options
from brokerwise.planners.balance.search import TOLERANCE, Candidate, Search
from brokerwise.planners.balance.words import ENDS, NOTHING, started
from brokerwise.planners.balance.working import Working

EQUAL_LOAD, EQUAL_COV = 0.01, 0.005
"""Maximum loads that differ by less than this part are as good: then cov decides; and
covs that differ by less, too: then fewer moves."""


def run_planned(working: Working, options: Options) -> str:
    """Move sessions so that the maximum load is low, then cov, and say why.

    Where the budget allows what `ldm` would do to its end, neither the maximum load nor
    cov is higher than with it; the same for `sdm`. If it allows both and nothing is as
    good as both, this holds for the one with the lower maximum load. The result is
    never worse than nothing: maximum load first, then cov. All limits count work, so it
    repeats.
    """
    why = started(
        working, float(options.alpha), float(options.beta), options.hot, "beta"
    )
    hot = -1.0 if options.hot is None else float(options.hot)
    if verdict(working.state, float(options.alpha), float(options.beta), hot):
        return why
    search = Search(working, options)
    found = search.cooled(hot) if hot >= 0 else _best(search)
    search.go(found)
    if found.same_places(search.start):
        return f"{why}, but {NOTHING[SPENT if working.spent else STUCK]}"
    return f"{why}; {_end(working, options)}"


def _best(search: Search) -> Candidate:
    migrations = [search.migrated(similar=similar) for similar in (False, True)]
    rivals = [found for found, _ in migrations]
    whole = [found for found, complete in migrations if complete]
    candidates = [search.start, *rivals]
    for sharing in search.manners:
        candidates.append(search.improved(search.levelled(rivals, sharing=sharing)))
    for rival in rivals:
        if not any(c.dominates(rival) for c in candidates if c is not rival):
            candidates.append(search.improved(rival))
    return _chosen(candidates, whole)


def _chosen(candidates: list[Candidate], whole: list[Candidate]) -> Candidate:
    """The best that is as good as each of those, as far as one is."""
    for rival in sorted(whole, key=lambda each: (each.highest, -each.moves)):
        candidates = [c for c in candidates if c.dominates(rival)] or candidates
    lowest = min(c.highest for c in candidates)
    near = [c for c in candidates if c.highest <= (1 + EQUAL_LOAD) * lowest]
    least = min(c.cov for c in near)
    near = [c for c in near if c.cov <= least + EQUAL_COV]
    return min(near, key=lambda c: (c.moves, c.key))


def _end(working: Working, options: Options) -> str:
    """How far it came."""
    state = working.state
    if options.hot is not None:
        if verdict(state, 0.0, 0.0, float(options.hot)) == COOL:
            return ENDS[COOL]
    elif state.loads[fullest(state)] <= (1 + TOLERANCE) * working.mean:
        return f"moves until max load is within {100 * TOLERANCE:g} % of the mean"
    if options.stop():
        return ENDS[GOING_ON]
    return ENDS[SPENT if working.spent else STUCK]
