"""Whether all users find room, and what to do about those that did not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from brokerwise.kernels.overlay_packing import (
    NOWHERE,
    pack_cheapest,
    pack_tight,
    search_packing,
    squeeze_in,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.problem import Demand

EXCHANGES = 20_000_000
"""Pairs of users that one repair may look at."""
PLACEMENTS = 1_000_000
"""Steps of the search through all packings."""
MOST_REACHES = 1_000
"""Different sets of known brokers up to which each is checked."""


@dataclass(frozen=True)
class Unplaced:
    """No packing was found; the best attempt left some users without a broker.

    Attributes
    ----------
    users, load, largest
        How many were left, what they send and receive, and the most of one of them.
    room
        The most that any one broker had left.
    proven
        All packings were tried: there is none.
    """

    users: int
    load: int
    largest: int
    room: int
    proven: bool = False

    @property
    def reason(self) -> str:
        """Why there is no plan, for people."""
        left = "1 user is" if self.users == 1 else f"{self.users:,} users are"
        largest = "" if self.users == 1 else f", {self.largest:,} the largest"
        return (
            f"{'there is no packing' if self.proven else 'no packing was found'}: at "
            f"best {left} left without a broker, who {_need(self.users)} "
            f"{self.load:,}{largest}; the most room on one broker is {self.room:,}"
        )


class _Named(Protocol):
    def __getitem__(self, number: int, /) -> str: ...


def empty_wiring(demand: Demand) -> tuple[Int64s, Int32s]:
    """The room of brokers without users, and users without brokers."""
    return demand.capacity.copy(), np.full(demand.users, NOWHERE, np.int32)


def with_idle_users(demand: Demand, broker: Int32s) -> Int32s:
    """The wiring with every user of load 0 on its cheapest access link, of equals to
    the lower broker. Such a user has no traffic, so costs and loads stay."""
    idle = np.flatnonzero(demand.load == 0)
    found = broker.copy()
    pack_cheapest(idle, demand.load, demand.access, demand.capacity.copy(), found)
    return found


def settled(demand: Demand, broker: Int32s) -> Int32s | Unplaced:
    """`broker` itself, if everybody has one; else with room made for those at NOWHERE
    by moving or exchanging others; else any packing that is found.

    Packs again heaviest first, tightest or roomiest broker first, also with those who
    know the fewest brokers first, each time making room for those left; then tries
    all packings. Work is bounded, so that it may miss one. No chance is involved.
    """
    if broker.min(initial=0) >= 0:
        return broker
    best: Unplaced | None = None
    for attempt in _attempts(demand, broker):
        left = _left(demand, attempt)
        if left is None:
            return attempt
        best = min(best or left, left, key=lambda unplaced: unplaced.load)
    found, complete = _any_packing(demand)
    if found is not None:
        return found
    assert best is not None
    return Unplaced(best.users, best.load, best.largest, best.room, complete)


def _attempts(demand: Demand, broker: Int32s) -> Iterator[Int32s]:
    yield _squeezed(demand, broker.copy())
    knows = (demand.access >= 0).sum(axis=1)
    fewest_first = np.lexsort((-demand.load, knows))
    for order in (demand.heaviest_first, fewest_first):
        for roomiest in (False, True):
            room, again = empty_wiring(demand)
            pack_tight(order, demand.load, demand.access, room, again, roomiest)
            yield _squeezed(demand, again)


def _squeezed(demand: Demand, broker: Int32s) -> Int32s:
    left = demand.heaviest_first[broker[demand.heaviest_first] < 0]
    by_load = demand.heaviest_first[::-1].copy()
    room = _room(demand, broker)
    squeeze_in(left, by_load, demand.load, demand.access, room, broker, EXCHANGES)
    return broker


def _room(demand: Demand, broker: Int32s) -> Int64s:
    room = demand.capacity.copy()
    np.subtract.at(room, broker[broker >= 0], demand.load[broker >= 0])
    return room


def _left(demand: Demand, broker: Int32s) -> Unplaced | None:
    loads = demand.load[broker < 0]
    if not len(loads):
        return None
    room = int(_room(demand, broker).max())
    return Unplaced(len(loads), int(loads.sum()), int(loads.max()), room)


def _any_packing(demand: Demand) -> tuple[Int32s | None, bool]:
    """A packing, if the search found one, and whether the search was complete."""
    order, load = demand.heaviest_first, demand.load
    room, broker = empty_wiring(demand)
    heavy, idle = order[load[order] > 0], order[load[order] == 0]
    found, complete = search_packing(
        heavy, load, demand.access, room, broker, PLACEMENTS
    )
    pack_cheapest(idle, load, demand.access, room, broker)
    return (broker if found else None), complete


def refusal(demand: Demand, names: _Named | None = None) -> str | None:
    """Why no packing can exist, with numbers; None if that is not certain.

    `names` are the users'; without, they go by number. Checks all brokers together,
    each user, and those users who know no brokers but certain ones.
    """
    return (
        _too_little_in_all(demand)
        or _fits_nowhere(demand, names)
        or _too_little_in_reach(demand)
    )


def _too_little_in_all(demand: Demand) -> str | None:
    need = sum(demand.load.tolist())
    capacity = sum(demand.capacity.tolist())
    if capacity >= need:
        return None
    return f"capacity of all brokers is {capacity:,}, users need {need:,}"


def _fits_nowhere(demand: Demand, names: _Named | None) -> str | None:
    largest = np.where(demand.access >= 0, demand.capacity, -1).max(axis=1, initial=-1)
    excess = demand.load - largest
    if excess.max(initial=0) <= 0:
        return None
    user = int(np.argmax(excess))
    others = int((excess > 0).sum()) - 1
    return (
        f"user {user if names is None else repr(names[user])} needs "
        f"{demand.load[user]:,}, the largest broker in its reach has "
        f"{largest[user]:,}"
        + (f" ({others:,} more {_fits(others)} nowhere)" if others else "")
    )


def _too_little_in_reach(demand: Demand) -> str | None:
    """Users whose known brokers are all among some set need no more than it has."""
    known = demand.access[demand.load > 0] >= 0
    if not len(known) or known.all():
        return None
    reaches, of = np.unique(known, axis=0, return_inverse=True)
    loads = np.zeros(len(reaches), np.int64)
    np.add.at(loads, of.ravel(), demand.load[demand.load > 0])
    counts = np.bincount(of.ravel())
    sets = reaches if len(reaches) <= MOST_REACHES else reaches[:0]
    for reach in [*sets, known.any(axis=0)]:
        inside = ~(reaches & ~reach).any(axis=1)
        need, capacity = int(loads[inside].sum()), int(demand.capacity[reach].sum())
        if need > capacity:
            return (
                f"{counts[inside].sum():,} users who know only {reach.sum():,} of the "
                f"{demand.brokers:,} brokers need {need:,}, those have {capacity:,}"
            )
    return None


def _fits(users: int) -> str:
    return "fits" if users == 1 else "fit"


def _need(users: int) -> str:
    return "needs" if users == 1 else "need"
