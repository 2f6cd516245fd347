"""What may be chosen about how users and brokers are wired, and what users send and
receive, whichever brokers they connect to.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.kernels.overlay_packing import Users
from brokerwise.model.arrays import Int32s, Int64s, read_only
from brokerwise.model.network import Network
from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never

HEURISTICS = ("random", "greedy", "clustering", "steiner", "steiner_literal")
ALGORITHMS = (*HEURISTICS, "local", "ilp")


@dataclass(frozen=True)
class Options:
    """How to wire.

    Attributes
    ----------
    tree
        All brokers are joined by one spanning tree, and messages take its links only.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    algorithm: str = "local"
    tree: bool = False
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("algorithm", self.algorithm, ALGORITHMS)
        checked_count(self.seed, "seed")


@dataclass(frozen=True, eq=False)
class Demand:
    """A network as planners see it: only messages that another user wants are sent.

    What each user publishes and wants is listed as in `Users`.

    Attributes
    ----------
    total
        What all users send in each sub-channel.
    load
        What each user sends and receives: the load that it puts on its broker.
    """

    access: Int64s
    core: Int64s
    capacity: Int64s
    rate_offsets: Int64s
    rate_subchannels: Int32s
    rates: Int64s
    wanted_offsets: Int64s
    wanted: Int32s
    total: Int64s
    load: Int64s

    def __post_init__(self) -> None:
        """What a network has is read-only there, so it is here, wherever it comes
        from: kernels are compiled for one kind of array."""
        for field in ("access", "core", "capacity", "wanted_offsets", "wanted"):
            object.__setattr__(self, field, read_only(getattr(self, field)))

    @classmethod
    def of(cls, network: Network) -> "Demand":
        published, wanted = network.published, network.wanted
        count = len(network.subchannels)
        followers = np.bincount(wanted.subchannels, minlength=count)
        publisher = published.owners()
        # A user that wants what it publishes itself is no reason to send it.
        pairs = publisher * count + published.subchannels
        own = np.isin(pairs, wanted.owners() * count + wanted.subchannels)
        sent = followers[published.subchannels] > own
        publisher, subchannels = publisher[sent], published.subchannels[sent]
        rates = published.rates[sent]
        total = _sums(subchannels, rates, count)
        outgoing = _sums(publisher, rates, network.users)
        incoming = _sums(wanted.owners(), total[wanted.subchannels], network.users)
        incoming -= _sums(publisher, np.where(own[sent], rates, 0), network.users)
        return cls(
            network.access,
            network.core,
            network.capacity,
            np.searchsorted(publisher, np.arange(network.users + 1)),
            np.ascontiguousarray(subchannels),
            np.ascontiguousarray(rates),
            wanted.offsets,
            wanted.subchannels,
            total,
            outgoing + incoming,
        )

    @property
    def users(self) -> int:
        return len(self.load)

    @property
    def brokers(self) -> int:
        return len(self.capacity)

    @property
    def subchannels(self) -> int:
        return len(self.total)

    @cached_property
    def everyone(self) -> Users:
        """The users, as kernels take them."""
        return Users(
            self.load,
            self.access,
            self.rate_offsets,
            self.rate_subchannels,
            self.rates,
            self.wanted_offsets,
            self.wanted,
        )

    @cached_property
    def followers(self) -> tuple[Int64s, Int32s]:
        """Offsets by sub-channel, and the users who want each, ascending."""
        order = np.argsort(self.wanted, kind="stable")
        user = np.repeat(np.arange(self.users), np.diff(self.wanted_offsets))
        counts = np.bincount(self.wanted, minlength=self.subchannels)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return offsets, user[order].astype(np.int32)

    @cached_property
    def heaviest_first(self) -> Int64s:
        """Users by falling load, equals by their number."""
        return np.argsort(-self.load, kind="stable")


def _sums(of: Int64s | Int32s, values: Int64s, count: int) -> Int64s:
    found = np.zeros(count, np.int64)
    np.add.at(found, of, values)
    return found
