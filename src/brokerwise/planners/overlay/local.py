"""Local search: users move, one at a time, to the broker where the overlay costs least.

This is the distributed algorithm of Zhao and Wu (2011), carried to convergence: each
broker sends the users with most traffic where that lowers the cost of the whole. One
move at a time gets stuck where only several together help, so the search starts from
several wirings, and again from its best with some users gathered anew.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from brokerwise.kernels.overlay_forwarding import core_weights
from brokerwise.kernels.overlay_local import gather_users
from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.planners.control import Stop
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.tree import TreeEvaluation, tree_local
from brokerwise.planners.overlay.wiring import Costs, Evaluation, wiring_of

SOFTNESS = (4.0, 1.0)
_SWEEPS = 3  # of all users, at each softness
_FEW = 200  # if fewer than one user in 200 move, go on to the next softness

KICKS = (16_000_000, 4, 300)
"""How often the search begins again from its best wiring: these steps, divided by those
of one search, but at least and at most this often."""
CLOSE = 1000
"""No more kicks within one part in 1000 of the bound."""
_CHUNK = 200  # users, between which it asks whether to stop


def gathered(demand: Demand, broker: Int32s, users: Int64s) -> Int32s:
    """A wiring in which users who want the same share brokers, made from another by
    moving `users`, in this order.

    Trades access for core: see `gather_users`. Within capacity and reach if the
    other is. O(brokers) for each user and sub-channel that it wants, a few times.
    """
    wiring = wiring_of(demand, broker)
    for softness in SOFTNESS:
        for _ in range(_SWEEPS):
            moves = gather_users(
                users,
                demand.everyone,
                demand.capacity,
                wiring,
                _prices(demand, wiring.broker),
                softness,
                -1,
            )
            if moves * _FEW < len(users):
                break
    return wiring.broker


def emptied(demand: Demand, broker: Int32s, closed: int) -> Int32s:
    """The same wiring, but users on broker `closed` that have room elsewhere are sent
    to where most is to be had of what they want, and cheaply."""
    wiring = wiring_of(demand, broker)
    leaving = demand.heaviest_first[broker[demand.heaviest_first] == closed]
    gather_users(
        leaving,
        demand.everyone,
        demand.capacity,
        wiring,
        _prices(demand, broker),
        SOFTNESS[-1],
        closed,
    )
    return wiring.broker


def _prices(demand: Demand, broker: Int32s) -> Float64s:
    """What one broker more costs each sub-channel: on average, as things are."""
    wiring = wiring_of(demand, broker)
    weights = core_weights(demand.core, wiring.followers)
    costs = (wiring.sources * weights).sum(axis=1)
    members = np.maximum(1, (wiring.followers > 0).sum(axis=1))
    prices: Float64s = costs / members
    return prices


@dataclass(frozen=True, eq=False)
class SearchResult:
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
) -> SearchResult:
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
    return SearchResult(best.broker, best.costs, best.start, moves, rounds, best.tree)


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
) -> SearchResult:
    if tree is None:
        wired, costs, moves = converged(demand, broker, stop)
        return SearchResult(wired, costs, start, moves)
    wired, tree, moves = tree_local(demand, broker, tree, stop=stop)
    costs = TreeEvaluation.of(demand, wired, tree).total(demand)
    return SearchResult(wired, costs, start, moves, tree=tree)
