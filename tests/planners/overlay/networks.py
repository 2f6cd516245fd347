"""Small networks, written by hand or drawn."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.names import Names
from brokerwise.model.network import (
    OUT_OF_REACH,
    Network,
    Published,
    Wanted,
    distances,
    shortest_paths,
)
from brokerwise.model.subchannels import Subchannels
from brokerwise.planners.overlay.problem import Demand

AMPLE = 2**40
"""A capacity that is never used up."""


def network_of(
    published: Sequence[Mapping[int, int]],
    wanted: Sequence[Collection[int]],
    access: Any,
    core: Any,
    capacity: Sequence[int] | None = None,
    subchannels: int | None = None,
) -> Network:
    """Of each user its rate in each sub-channel, the sub-channels that it wants and a
    row of access costs. Costs are in thousandths. Without capacities brokers have
    plenty; without a number, there are as many sub-channels as are used."""
    most = max((c for user in [*published, *wanted] for c in user), default=0)
    count = most + 1 if subchannels is None else subchannels
    brokers = len(core)
    return Network(
        np.array([AMPLE] * brokers if capacity is None else capacity, np.int64),
        np.array(access, np.int64).reshape(len(wanted), brokers),
        np.array(core, np.int64).reshape(brokers, brokers),
        Published(
            _offsets(published),
            _entries([sorted(user) for user in published]),
            np.array([user[c] for user in published for c in sorted(user)], np.int64),
        ),
        Wanted(_offsets(wanted), _entries([sorted(user) for user in wanted])),
        Subchannels.equal_width(["x"], 0, 1, count),
        Names.numbered(len(wanted)),
        Names.numbered(brokers),
    )


def demand_of(*args: Any, **kwargs: Any) -> Demand:
    """The demand of `network_of` the same arguments."""
    return Demand.of(network_of(*args, **kwargs))


@st.composite
def networks(
    draw: st.DrawFn,
    max_users: int = 6,
    max_brokers: int = 3,
    max_subchannels: int = 4,
    *,
    min_users: int = 1,
    reach: bool = True,
    ample: bool = False,
) -> Network:
    """Networks with some users, brokers and sub-channels.

    With `reach`, users of some do not know all brokers. With `ample`, everyone has
    room everywhere; without, capacities may also be tight or too small.
    """
    users = draw(st.integers(min_users, max_users))
    brokers = draw(st.integers(1, max_brokers))
    subchannels = draw(st.integers(1, max_subchannels))
    access, core = draw(_costs(users, brokers))
    if reach and draw(st.booleans()):
        access = np.where(draw(_known(users, brokers)), access, OUT_OF_REACH)
    channel = st.integers(0, subchannels - 1)
    rates = st.dictionaries(channel, st.integers(1, 9), max_size=subchannels)
    interests = st.sets(channel, max_size=subchannels)
    found = network_of(
        [draw(rates) for _ in range(users)],
        [draw(interests) for _ in range(users)],
        access,
        core,
        subchannels=subchannels,
    )
    if ample:
        return found
    load = Demand.of(found).load
    return replace(found, capacity=np.array(draw(_capacities(load, brokers))))


@st.composite
def _costs(draw: st.DrawFn, users: int, brokers: int) -> tuple[Int64s, Int64s]:
    """Of points on a small grid, where many costs are equal or 0, or of any links."""
    if draw(st.booleans()):
        size = draw(st.sampled_from([2, 5, 100]))
        point = st.tuples(*[st.integers(0, size)] * 2)
        ends = st.lists(point, min_size=users + brokers, max_size=users + brokers)
        points = np.array(draw(ends), np.float64)
        nodes, hubs = points[:users], points[users:]
        return distances(nodes, hubs), shortest_paths(distances(hubs, hubs))
    cost = st.integers(0, draw(st.sampled_from([1, 9, 5000])))
    access = np.array(
        [[draw(cost) for _ in range(brokers)] for _ in range(users)], np.int64
    )
    core = np.zeros((brokers, brokers), np.int64)
    for a in range(brokers):
        for b in range(a):
            core[a, b] = core[b, a] = draw(cost)
    return access, shortest_paths(core)


@st.composite
def _known(draw: st.DrawFn, users: int, brokers: int) -> Any:
    known = np.zeros((users, brokers), np.bool_)
    for user in range(users):
        some = st.sets(st.integers(0, brokers - 1), min_size=1, max_size=brokers)
        known[user, sorted(draw(some))] = True
    return known


def _capacities(load: Int64s, brokers: int) -> st.SearchStrategy[list[int]]:
    total, most = int(load.sum()), int(load.max(initial=0))
    each = -(-total // brokers)
    return (
        st.just([AMPLE] * brokers)
        | st.just([2 * each] * brokers)
        | st.just([max(each, most)] * brokers)
        | st.lists(
            st.integers(most, max(most, total)), min_size=brokers, max_size=brokers
        )
        | st.lists(st.integers(0, total), min_size=brokers, max_size=brokers)
    )


def _offsets(lists: Sequence[Collection[int]]) -> Int64s:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _entries(lists: Sequence[Sequence[int]]) -> Int32s:
    return np.array([entry for one in lists for entry in one], np.int32)
