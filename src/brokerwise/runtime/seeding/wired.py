"""A plan of kind overlay: each user on its broker, and how brokers forward."""

from itertools import groupby
from operator import itemgetter

import numpy as np

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.runtime.protocol.control import Axis, Branch, OverlayPart
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession
from brokerwise.runtime.protocol.subchannels import PREFIX
from brokerwise.runtime.seeding.names import sendable


def wired_seed(plan: OverlayPlan, network: Network) -> Seed:
    """Brokers by their names in the network, one session for each user: also for one
    who wants nothing, since that is where it publishes.

    The rate of a sub-channel is all that users publish in it.
    """
    brokers = sendable("broker", network.broker_names)
    rates = np.zeros(len(network.subchannels), np.int64)
    np.add.at(rates, network.published.subchannels, network.published.rates)
    return Seed(
        brokers=_brokers(brokers, network),
        placement="plan",
        kind=plan.kind,
        sessions=_sessions(plan, network, brokers),
        rates={subchannel(k): rate for k, rate in enumerate(rates.tolist())},
        overlay=_parts(plan.trees, network, brokers),
        period_seconds=network.period_seconds,
    )


def subchannel(number: int) -> str:
    """The topic of a sub-channel."""
    return f"{PREFIX}{number}"


def _brokers(names: list[str], network: Network) -> tuple[SeedBroker, ...]:
    points = network.broker_points
    if points is None or points.shape[1] != 2:
        points = np.full((len(names), 2), np.nan)
    return tuple(
        SeedBroker(name, capacity, *(None if np.isnan(c) else c for c in point))
        for name, capacity, point in zip(
            names, network.capacity.tolist(), points.tolist(), strict=True
        )
    )


def _sessions(
    plan: OverlayPlan, network: Network, brokers: list[str]
) -> tuple[SeedSession, ...]:
    wanted, ends = network.wanted.subchannels.tolist(), network.wanted.offsets.tolist()
    names = sendable("user", network.user_names)
    return tuple(
        SeedSession(
            name,
            brokers[home],
            tuple(subchannel(k) for k in wanted[ends[user] : ends[user + 1]]),
        )
        for user, (name, home) in enumerate(
            zip(names, plan.broker.tolist(), strict=True)
        )
    )


def _parts(
    trees: Trees, network: Network, brokers: list[str]
) -> dict[str, OverlayPart]:
    """What each broker passes on: the links of all trees that begin at it."""
    axes = tuple(Axis(axis.attribute, axis.edges) for axis in network.subchannels.axes)
    branches: dict[str, list[Branch]] = {name: [] for name in brokers}
    columns = (trees.parent, trees.source, trees.subchannel, trees.child)
    links = sorted(zip(*(column.tolist() for column in columns), strict=True))
    for (parent, source, number), group in groupby(links, key=itemgetter(0, 1, 2)):
        children = tuple(brokers[child] for *_, child in group)
        branch = Branch(brokers[source], subchannel(number), children)
        branches[brokers[parent]].append(branch)
    return {name: OverlayPart(axes, tuple(own)) for name, own in branches.items()}
