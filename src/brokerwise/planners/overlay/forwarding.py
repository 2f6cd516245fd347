"""What brokers forward to each other, as part of an integer program.

Sub-channels with the same followers are one group: the same brokers have followers of
them.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from brokerwise.kernels.overlay_core import core_weights
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.program import Program
from brokerwise.planners.overlay.tree import Hanging


@dataclass(frozen=True, eq=False)
class Group:
    """Sub-channels that the same users want, and what each user sends in them."""

    followers: tuple[int, ...]
    sent: Int64s


def groups_of(demand: Demand) -> list[Group]:
    """Every sub-channel in which something is sent, in one of the groups."""
    offsets, users = demand.followers
    sender = np.repeat(np.arange(demand.users), np.diff(demand.rate_offsets))
    sent: dict[tuple[int, ...], Int64s] = {}
    for c in np.flatnonzero(demand.total):
        key = tuple(users[offsets[c] : offsets[c + 1]].tolist())
        here = demand.rate_subchannels == c
        group = sent.setdefault(key, np.zeros(demand.users, np.int64))
        group[sender[here]] += demand.rates[here]
    return [Group(key, rates) for key, rates in sent.items()]


def charge_sets(program: Program, demand: Demand) -> None:
    """Messages go along the minimum spanning tree over their source and the brokers
    with followers.

    For each group and set of brokers, z says that these are the brokers, exactly: a
    tree over more of them may weigh less. Columns grow with 2^brokers.
    """
    sets = sets_of(demand.brokers)
    weights = core_weights(demand.core, sets.astype(np.int32))
    for group in groups_of(demand):
        possible = sets.sum(axis=1) <= len(group.followers)
        _charge_group(program, group, sets[possible], weights[possible])


def _charge_group(program: Program, group: Group, sets: Bools, weights: Int64s) -> None:
    """What is sent from broker s is split over the sets: w, as a share of all that is
    sent in the group, so that products of x and z are exact."""
    x, insiders = program.x, list(group.followers)
    share = group.sent / group.sent.sum()
    outsiders = share.copy()
    outsiders[insiders] = 0
    z = program.columns(np.ones(len(sets), np.bool_), whole=True)
    w = program.columns(np.ones(sets.shape, np.bool_))
    program.row(1, 1, (z, 1))
    for number in range(len(sets)):
        program.row(0, 0, (w[number], 1), (z[number : number + 1], -1))
    for broker, inside in enumerate(sets.T):
        having = (z[inside], 1)
        for one in insiders:
            program.row(0, inf, having, (x[one, broker : broker + 1], -1))
        program.row(-inf, 0, having, (x[insiders, broker], -1))
        program.row(0, 0, (w[:, broker], 1), (x[:, broker], -share))
        # Followers send from a broker with followers. It follows, but saves time.
        program.row(-inf, 0, (w[~inside, broker], 1), (x[:, broker], -outsiders))
    total, grain = group.sent.sum(), np.gcd.reduce(group.sent)
    program.charge(w.ravel(), (total * weights).ravel(), (grain * weights).ravel())


def charge_links(program: Program, demand: Demand, tree: Int32s) -> None:
    """Messages go along one tree: across each link from what is on one side, if there
    is a follower on the other.

    For each link and group, `any` and `all` say whether any or all followers are below
    the link, and for each sender p whether its messages cross.
    """
    hanging = Hanging.of(tree, demand.core)
    under = np.eye(demand.brokers, dtype=np.bool_)
    for broker in hanging.order[:0:-1]:
        under[hanging.parent[broker]] |= under[broker]
    groups = groups_of(demand)
    for link in range(1, demand.brokers):
        below = program.x[:, under[link]]
        for group in groups:
            _charge_link(program, group, below, int(hanging.up[link]))


def _charge_link(program: Program, group: Group, below: Int64s, cost: int) -> None:
    ends = program.columns(np.ones(2, np.bool_))
    some, every = ends[:1], ends[1:]
    for follower in group.followers:
        program.row(0, inf, (some, 1), (below[follower], -1))
        program.row(-inf, 0, (every, 1), (below[follower], -1))
    senders = np.flatnonzero(group.sent)
    crosses = program.columns(np.ones(len(senders), np.bool_))
    for number, sender in enumerate(senders):
        p = crosses[number : number + 1]
        program.row(0, inf, (p, 1), (some, -1), (below[sender], 1))
        program.row(0, inf, (p, 1), (every, 1), (below[sender], -1))
    program.charge(crosses, group.sent[senders] * cost)


def sets_of(brokers: int) -> Bools:
    """Every set of brokers but the empty one: a row each, a column for each broker."""
    numbers = np.arange(1, 2**brokers)
    return (numbers[:, None] >> np.arange(brokers)[None, :]) & 1 > 0
