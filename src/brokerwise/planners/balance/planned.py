"""Our own policy: as low a maximum load as few moves can make.

Brokers are relieved down to a level, the lowest that the budget allows, in two manners:
each session to where the load is least after it; and to where it adds least, and those
that share topics with it follow. Then moves, swaps and moves taken back improve what is
left. What the paper's migrations would do is among the starts. Loads are exact after
every step.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.kernels.balance_paper import (
    COOL,
    GOING_ON,
    SPENT,
    STUCK,
    go_to,
    verdict,
)
from brokerwise.kernels.balance_search import REACHED, UNFINISHED, polish, relieve, trim
from brokerwise.kernels.balance_state import fullest, spread
from brokerwise.model.arrays import Bools, Int64s
from brokerwise.planners.balance.paper import ENDS, NOTHING, run_migration, started
from brokerwise.planners.balance.problem import Options
from brokerwise.planners.balance.workspace import Workspace

TOLERANCE = 0.01
"""A maximum load so little above the mean is low enough."""
STEPS = 65_536
"""Moves between two questions whether to stop."""
POLISHING, POLISHING_PART = 100_000_000, 10_000_000
"""Counts of topics that local search looks at, at most, and between two questions."""
TRIMMED = 20_000
"""Plans of more moves are not gone through again for moves that are not needed."""
LOOKING = 100_000_000
"""Looks at counts that may be spent on each choice among several, about."""
MOST_LEVELS = 64
RISE = 200
"""A level that cannot be held rises by this part of it."""
BRACKET = 0.1
"""How far below a level that is known to be reachable another one is looked for."""

EQUAL_LOAD, EQUAL_COV = 0.01, 0.005
"""Maximum loads that differ by less than this part are as good: then cov decides; and
covs that differ by less, too: then fewer moves."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Where sessions could be, and what that makes of the loads."""

    places: Int64s
    highest: int
    cov: float
    mean: float
    moves: int

    def dominates(self, other: "Candidate") -> bool:
        return self.highest <= other.highest and self.cov <= other.cov

    def same_places(self, other: "Candidate") -> bool:
        return bool((self.places == other.places).all())

    @property
    def key(self) -> tuple[int, float, int]:
        return self.highest, self.cov, self.moves


class Search:
    """Takes sessions from where they are to better places, and back."""

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self._workspace, self._options = workspace, options
        self._state = workspace.state
        self.start = self.here()

    def here(self) -> Candidate:
        top = fullest(self._state)
        return Candidate(
            self._state.places.copy(),
            int(self._state.loads[top]) if top >= 0 else 0,
            float(spread(self._state)),
            self._workspace.mean,
            self._workspace.moves,
        )

    def go(self, to: Candidate) -> None:
        go_to(self._state, to.places)

    def migrated(self, *, similar: bool) -> tuple[Candidate, bool]:
        """What a migration of the paper leads to, and whether it came to its end."""
        self.go(self.start)
        status = run_migration(self._workspace, self._options, similar=similar)
        return self.here(), status not in (SPENT, GOING_ON)

    def levelled(self, rivals: list[Candidate], *, sharing: bool) -> Candidate:
        """All brokers at most at the lowest level that the budget allows, nearly.

        `rivals` keep to the budget, too: a level that they reach is low enough to look
        from, and what they lose by sharing less is lost here, too.
        """
        self.go(self.start)
        if self._unlimited:
            self._settle(min(rival.mean for rival in rivals), sharing)
        else:
            self._lower(min(rival.highest for rival in rivals), sharing)
        return self.here()

    def improved(self, start: Candidate) -> Candidate:
        """What local search makes of it: no higher, and cov no more."""
        self.go(start)
        given_up = np.zeros(len(self._state.loads), np.bool_)
        for _ in range(POLISHING // POLISHING_PART):
            if self._options.stop() or polish(
                self._state, TOLERANCE, given_up, POLISHING_PART
            ):
                break
        if self._workspace.moves <= TRIMMED:
            found = self.here()
            trim(self._state, found.highest, found.cov)
        return self.here()

    def cooled(self, hot: float) -> Candidate:
        """No broker more than so much above the mean, as far as that can be."""
        stuck = self._none()
        for _ in range(MOST_LEVELS):
            level = int((1 + hot) * self._workspace.mean)
            reached = self._reach(level, sharing=False, stuck=stuck)
            if reached and int((1 + hot) * self._workspace.mean) >= level:
                break
        return self.here()

    def _settle(self, mean: float, sharing: bool) -> None:
        """Near the mean, which rises or falls with what is shared: so the level, too,
        until it is held. Brokers that cannot be relieved at twice the mean never can.
        """
        level, stuck = int((1 + TOLERANCE) * mean), self._none()
        for _ in range(MOST_LEVELS):
            if self._reach(level, sharing, stuck):
                if self._goal() >= level:
                    return
                level = self._goal()
            elif level < 2 * self._workspace.mean:
                level = max(self._goal(), level + max(1, level // RISE))
                stuck[:] = False

    def _lower(self, known: int, sharing: bool) -> None:
        """By bisection to the lowest level that can be reached; what is left of the
        budget goes to the fullest brokers that can still be relieved."""
        goal, best = self._goal(), self.start
        low, high = max(goal, int(known * (1 - BRACKET))), self.start.highest
        level = min(known, high - 1)
        for _ in range(self._tries):
            if high - low <= 1 or self._options.stop():
                break
            self.go(self.start)
            if self._reach(level, sharing, self._none()):
                best, high = self.here(), level
            else:
                low = level
            level = (low + high) // 2
        self.go(best)
        stuck = self._none()
        while not (self._reach(goal, sharing, stuck) or self._options.stop()):
            if stuck.all():
                break

    def _reach(self, level: int, sharing: bool, stuck: Bools) -> bool:
        status = UNFINISHED
        while status == UNFINISHED and not self._options.stop():
            status = relieve(
                *(self._state, level, sharing, self._unlimited),
                *(self._choice, stuck, STEPS),
            )
        return bool(status == REACHED)

    def _goal(self) -> int:
        return int((1 + TOLERANCE) * self._workspace.mean)

    def _none(self) -> Bools:
        return np.zeros(len(self._state.loads), np.bool_)

    @cached_property
    def _unlimited(self) -> bool:
        return self._options.max_moves is None and self._options.max_bytes is None

    @cached_property
    def _look(self) -> int:
        """About what it costs to look at all sessions for all brokers once."""
        return max(1, len(self._state.topics)) * (1 + len(self._state.loads) // 8)

    @property
    def manners(self) -> tuple[bool, ...]:
        """Whether to level by sharing: for huge fleets only the quick way, without."""
        return (False, True) if self._look <= 10 * LOOKING else (False,)

    @cached_property
    def _tries(self) -> int:
        """Levels to try: fewer where each costs much."""
        return max(3, min(12, LOOKING // self._look))

    @cached_property
    def _choice(self) -> int:
        """Sessions to choose from for a move: fewer where each costs much."""
        return max(1, min(64, LOOKING // self._look))


def run_planned(workspace: Workspace, options: Options) -> str:
    """Move sessions so that the maximum load is low, then cov, and say why.

    Where the budget allows what `ldm` would do to its end, neither the maximum load nor
    cov is higher than with it; the same for `sdm`. If it allows both and nothing is as
    good as both, this holds for the one with the lower maximum load. The result is
    never worse than nothing: maximum load first, then cov. All limits count work, so it
    repeats.
    """
    why = started(
        workspace, float(options.alpha), float(options.beta), options.hot, "beta"
    )
    hot = -1.0 if options.hot is None else float(options.hot)
    if verdict(workspace.state, float(options.alpha), float(options.beta), hot):
        return why
    search = Search(workspace, options)
    found = search.cooled(hot) if hot >= 0 else _best(search)
    search.go(found)
    if found.same_places(search.start):
        return f"{why}, but {NOTHING[SPENT if workspace.spent else STUCK]}"
    return f"{why}; {_end(workspace, options)}"


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


def _end(workspace: Workspace, options: Options) -> str:
    """How far it came."""
    state = workspace.state
    if options.hot is not None:
        if verdict(state, 0.0, 0.0, float(options.hot)) == COOL:
            return ENDS[COOL]
    elif state.loads[fullest(state)] <= (1 + TOLERANCE) * workspace.mean:
        return f"moves until max load is within {100 * TOLERANCE:g} % of the mean"
    if options.stop():
        return ENDS[GOING_ON]
    return ENDS[SPENT if workspace.spent else STUCK]
