"""Whether a fleet is too small or too large for its load, and what to do about it."""

from dataclasses import dataclass, replace

import numpy as np

from brokerwise.model.arrays import Bools
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Rebalancing, Snapshot
from brokerwise.model.units import checked_count, told_apart
from brokerwise.planners.balance.planned import TOLERANCE
from brokerwise.planners.balance.problem import Options, Problem, lower_bound
from brokerwise.planners.balance.solve import solve

MOST_TIMES = 8
"""A fleet grows to at most this many times its size in one step."""


@dataclass(frozen=True)
class Sizing:
    """How full brokers shall be.

    Attributes
    ----------
    capacity
        The load that a broker can carry, in the unit of the snapshot's rates.
    high, target, low
        Shares of it: a fleet grows if even well balanced a broker would carry more than
        `high`, shrinks if its mean is below `low`, and in both cases to the fewest
        brokers of which none carries more than `target`.
    """

    capacity: int
    high: float = 0.8
    target: float = 0.65
    low: float = 0.4

    def __post_init__(self) -> None:
        checked_count(self.capacity, "capacity", 1)
        if not 0 <= self.low < self.target < self.high <= 1:
            raise InputError(
                f"low, target, high: found {self.low:g}, {self.target:g}, "
                f"{self.high:g}, expected shares that rise, from 0 to 1"
            )


@dataclass(frozen=True, eq=False)
class Resizing:
    """A fleet of another size, and the moves that this takes.

    Attributes
    ----------
    added
        New brokers, with the numbers that follow those of the snapshot.
    closing
        By broker, new ones included: whether it is to be left by all and stopped.
    rebalancing
        Over the brokers of the snapshot and the new ones.
    reason
        Why, in words.
    """

    added: int
    closing: Bools
    rebalancing: Rebalancing
    reason: str


def propose_size(problem: Problem, sizing: Sizing, options: Options) -> Resizing | None:
    """What size the fleet should have; None if it is right, or none would help.

    Moves are those of `planned`, whatever the policy and the thresholds in the options
    are, and without a budget. Sizes are tried by bisection, each with a plan of its
    own: O(log brokers) plans. Brokers that already close do not count.
    """
    free = replace(
        options,
        policy="planned",
        alpha=TOLERANCE,
        beta=0.0,
        max_moves=None,
        max_bytes=None,
        hot=None,
    )
    staying = int((~problem.closing).sum())
    if not staying or not problem.snapshot.sessions:
        return None
    now = solve(problem, free)
    most = _highest(now, problem.closing)
    if most > sizing.high * sizing.capacity:
        return _grown(problem, sizing, free, most)
    mean = float(now.before[~problem.closing].sum()) / staying
    if mean < sizing.low * sizing.capacity and staying > 1:
        return _shrunk(problem, sizing, free, mean)
    return None


def _grown(
    problem: Problem, sizing: Sizing, options: Options, most: int
) -> Resizing | None:
    """The fewest more brokers for which all are at most at the target."""
    limit = sizing.target * sizing.capacity
    last = (MOST_TIMES - 1) * int((~problem.closing).sum())
    low, high = 0, 1
    while (found := _opened(problem, high, options, limit)) is None:
        if high == last:
            return None
        low, high = high, min(2 * high, last)
    while high - low > 1:
        middle = (low + high) // 2
        tried = _opened(problem, middle, options, limit)
        if tried is None:
            low = middle
        else:
            high, found = middle, tried
    carried, limit_text = told_apart(_percent, most / sizing.capacity, sizing.high)
    return Resizing(
        high,
        _with_more(problem, high).closing,
        found,
        f"even well balanced, a broker carries {carried} of its capacity, more than "
        f"{limit_text}; with {high:,} more at most "
        f"{_percent(found.max_after / sizing.capacity)}",
    )


def _opened(
    problem: Problem, more: int, options: Options, limit: float
) -> Rebalancing | None:
    """The fleet with more brokers; None if one would carry more than the limit."""
    larger = _with_more(problem, more)
    if lower_bound(larger.snapshot, int((~larger.closing).sum())) > limit:
        return None
    found = solve(larger, options)
    return found if _highest(found, larger.closing) <= limit else None


def _shrunk(
    problem: Problem, sizing: Sizing, options: Options, mean: float
) -> Resizing | None:
    """As many of the emptiest brokers close as leave no other above the target."""
    limit = sizing.target * sizing.capacity
    order = _emptiest_first(problem)
    low, high = 0, min(len(order) + 1, int((~problem.closing).sum()))
    found = None
    while high - low > 1:
        middle = (low + high) // 2
        tried = _closed(problem, order[:middle], options, limit)
        if tried is None:
            high = middle
        else:
            low, found = middle, tried
    if found is None:
        return None
    closing, rebalancing = found
    carried, least = told_apart(_percent, mean / sizing.capacity, sizing.low)
    return Resizing(
        0,
        closing,
        rebalancing,
        f"brokers carry {carried} of their capacity on average, less than {least}; "
        f"without {low:,} of them at most "
        f"{_percent(_highest(rebalancing, closing) / sizing.capacity)}",
    )


def _closed(
    problem: Problem, brokers: list[int], options: Options, limit: float
) -> tuple[Bools, Rebalancing] | None:
    """The fleet without some brokers; None if a session cannot leave, or if the others
    would carry more than the limit."""
    closing, opened = problem.closing.copy(), problem.open.copy()
    closing[brokers], opened[brokers] = True, False
    staying = int((~closing).sum())
    if lower_bound(problem.snapshot, staying) > limit:
        return None
    smaller = Problem(problem.snapshot, problem.held, opened, closing)
    found = solve(smaller, options)
    places = problem.snapshot.places.copy()
    places[found.sessions] = found.targets
    if np.isin(places, brokers).any() or _highest(found, closing) > limit:
        return None
    return closing, found


def _emptiest_first(problem: Problem) -> list[int]:
    """Brokers that could close, ascending by load: open ones, without held sessions."""
    loads = problem.snapshot.loads()
    holding = np.zeros(len(loads), np.bool_)
    holding[problem.snapshot.places[problem.held]] = True
    found = np.flatnonzero(problem.open & ~holding)
    return [int(broker) for broker in found[np.argsort(loads[found], kind="stable")]]


def _with_more(problem: Problem, more: int) -> Problem:
    """The same with new brokers, open and empty."""
    old = problem.snapshot
    snapshot = Snapshot(
        old.brokers + more,
        old.rates,
        old.wanted,
        old.places,
        old.users,
        old.state_bytes,
        old.period_seconds,
    )
    return Problem(
        snapshot,
        problem.held,
        np.append(problem.open, np.ones(more, np.bool_)),
        np.append(problem.closing, np.zeros(more, np.bool_)),
    )


def _highest(found: Rebalancing, closing: Bools) -> int:
    return int(found.after[~closing].max(initial=0))


def _percent(share: float, more: int = 0) -> str:
    return f"{100 * share:.{more}f} %"
