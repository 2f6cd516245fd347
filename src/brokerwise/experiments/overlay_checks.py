"""Whether a wiring costs what it is said to, counted again.

Nothing of the planners or kernels is used here: loads and costs are stated again, in
numpy, with tables of all users and all sub-channels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from brokerwise.auditing.trees import least_weights
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.network import Network

OURS = "local"


@dataclass(frozen=True, eq=False)
class Traffic:
    """What users (rows) send in sub-channels, what they want, and their loads."""

    sent: Int64s
    wants: Bools
    load: Int64s

    @classmethod
    def of(cls, network: Network) -> "Traffic":
        """A user sends what another one wants; and gets, of what it wants, all that
        others publish."""
        shape = network.users, len(network.subchannels)
        wants, rates = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
        wants[network.wanted.owners(), network.wanted.subchannels] = True
        published = network.published
        rates[published.owners(), published.subchannels] = published.rates
        others = wants.sum(axis=0) - wants
        sent = np.where(others > 0, rates, 0)
        gets = np.where(wants, rates.sum(axis=0) - rates, 0)
        return cls(sent, wants, sent.sum(axis=1) + gets.sum(axis=1))


def access_problems(
    network: Network, traffic: Traffic, broker: Int32s, access: int
) -> Iterator[str]:
    """Users out of reach, brokers over their capacity, another cost than said."""
    if len(broker) != network.users:
        yield f"{len(broker):,} of {network.users:,} users have a broker"
        return
    if len(broker) and not (broker.min() >= 0 and broker.max() < network.brokers):
        yield "a user is on a broker that does not exist"
        return
    links = network.access[np.arange(network.users), broker]
    far = np.count_nonzero(links < 0)
    if far:
        yield f"{far:,} users are on brokers that they do not know"
    loads = np.zeros(network.brokers, np.int64)
    np.add.at(loads, broker, traffic.load)
    over = loads - network.capacity
    worst = int(np.argmax(over))
    if over[worst] > 0:
        yield (
            f"broker {worst} carries {loads[worst]:,} of {network.capacity[worst]:,}"
        )
    found = int(traffic.load @ links)
    if found != access:
        yield f"says access costs {access:,}, but it is {found:,}"


def core_problems(
    core: Int64s, traffic: Traffic, broker: Int32s, cost: int
) -> Iterator[str]:
    """Another cost of the core than said: for each broker and sub-channel in which its
    users send, the lightest tree of it and all brokers with users who want it."""
    brokers, subchannels = len(core), traffic.sent.shape[1]
    sources = np.zeros((brokers, subchannels), np.int64)
    np.add.at(sources, broker, traffic.sent)
    wanted = np.zeros((brokers, subchannels), np.bool_)
    np.logical_or.at(wanted, broker, traffic.wants)
    source, subchannel = np.nonzero(sources)
    members = wanted.T[subchannel]
    members[np.arange(len(source)), source] = True
    found = int(sources[source, subchannel] @ least_weights(core, members))
    if found != cost:
        yield f"says the core costs {cost:,}, but it is {found:,}"


def order_problems(costs: Mapping[str, int], bound: int | None) -> Iterator[str]:
    """What costs less than it can, or more than ours may."""
    for name, cost in costs.items():
        if bound is not None and cost < bound:
            yield f"{name} costs {cost:,}, below the bound of {bound:,}"
    ours = costs.get(OURS)
    if ours is not None and ours > min(costs.values()):
        best = min(costs, key=lambda name: costs[name])
        yield f"{OURS} costs {ours:,}, more than {best} with {costs[best]:,}"
