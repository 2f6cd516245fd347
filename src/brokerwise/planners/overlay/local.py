"""Local search: users move, one at a time, to the broker where the overlay costs least.

This is the distributed algorithm of Zhao and Wu (2011), carried to convergence: each
broker sends the users with most traffic where that lowers the cost of the whole.
One move at a time gets stuck where only several together help, so the search starts
from several wirings, and again from its best with some users gathered anew.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from brokerwise.model.arrays import Int32s
from brokerwise.planners.control import Stop
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Costs, Evaluation
from brokerwise.planners.overlay.starts import emptied, gathered
from brokerwise.planners.overlay.tree_local import TreeEvaluation, tree_local

KICKS = (16_000_000, 4, 300)
"""How often the search begins again from its best wiring: so many steps, divided by
those of one search, but at least and at most so often."""
CLOSE = 1000
"""No more kicks within one part in so many of the bound."""
_CHUNK = 200  # users, between which it asks whether to stop


@dataclass(frozen=True, eq=False)
class Found:
    """A wiring that no move of one user improves, unless it was stopped.

    `start` is the algorithm whose wiring it began with; `rounds` counts the searches
    that were made, and `moves` the users moved in all of them.
    """

    broker: Int32s
    costs: Costs
    start: str
    moves: int = 0
    rounds: int = 0
    tree: Int32s | None = None


def converged(demand: Demand, broker: Int32s, stop: Stop) -> tuple[Int32s, Costs, int]:
    """Move users, heaviest first, again and again until no move lowers the cost.

    Returns the wiring, what it costs, and moves. Never dearer than what it is given.
    """
    evaluation = Evaluation.of(demand, broker)
    users = demand.heaviest_first
    moves, idle, at = 0, 0, 0
    while idle < demand.users and not stop():
        chunk = users[at : at + _CHUNK]
        moved, _ = evaluation.descend(demand, chunk)
        moves += moved
        idle = 0 if moved else idle + len(chunk)
        at = at + len(chunk) if at + len(chunk) < demand.users else 0
    return evaluation.wiring.broker, evaluation.total(demand), moves


def local(
    demand: Demand,
    starts: Mapping[str, Int32s],
    bound: int,
    *,
    seed: int,
    stop: Stop,
    tree: Int32s | None = None,
) -> Found:
    """The best wiring found from any of `starts`, which are within capacity and reach,
    the best of them first.

    With a `tree`, messages go along it, and its links are moved as well. The search is
    over when kicks do not help, or the cost is next to the `bound`; once `stop` says
    yes, the best so far is the answer.
    """
    best, moves, rounds = None, 0, 0
    for name, broker in _beginnings(demand, starts, seed):
        found = _searched(demand, name, broker, tree, stop)
        moves, rounds = moves + found.moves, rounds + 1
        if best is None or found.costs.total < best.costs.total:
            best = found
        if stop():
            break
    assert best is not None
    for kicked in _kicks(demand, seed):
        if (best.costs.total - bound) * CLOSE <= best.costs.total or stop():
            break
        found = _searched(demand, best.start, kicked(best.broker), best.tree, stop)
        moves, rounds = moves + found.moves, rounds + 1
        if found.costs.total < best.costs.total:
            best = found
    return Found(best.broker, best.costs, best.start, moves, rounds, best.tree)


def _beginnings(
    demand: Demand, starts: Mapping[str, Int32s], seed: int
) -> Iterator[tuple[str, Int32s]]:
    """The wirings given, and those with their users gathered that are made from the
    cheapest link for each user, and from chance."""
    yield from starts.items()
    for name in ("priced", "random"):
        if name in starts:
            yield (
                f"gathered {name}",
                gathered(demand, starts[name], demand.heaviest_first),
            )


def _kicks(demand: Demand, seed: int) -> Iterator[Callable[[Int32s], Int32s]]:
    """Ways to begin again from a wiring: empty a broker, or gather half of the users.

    Moving users one by one, neither happens by itself.
    """
    generator = np.random.default_rng(seed)
    work, least, most = KICKS
    each = (demand.users + demand.subchannels * demand.brokers) * demand.brokers
    number = min(most, max(least, work // max(1, each)))
    for kick in range(number):
        if kick % 4 == 0:
            some = generator.permutation(demand.users)[: -(-demand.users // 2)]
            yield partial(gathered, demand, users=some)
        else:
            closed = int(generator.integers(demand.brokers))
            yield partial(emptied, demand, closed=closed)


def _searched(
    demand: Demand, start: str, broker: Int32s, tree: Int32s | None, stop: Stop
) -> Found:
    if tree is None:
        wired, costs, moves = converged(demand, broker, stop)
        return Found(wired, costs, start, moves)
    wired, tree, moves = tree_local(demand, broker, tree, stop=stop)
    costs = TreeEvaluation.of(demand, wired, tree).total(demand)
    return Found(wired, costs, start, moves, tree=tree)
