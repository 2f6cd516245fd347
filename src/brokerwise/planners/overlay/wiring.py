"""Which broker each user is on, and what follows for brokers and sub-channels."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand


@dataclass(frozen=True, eq=False)
class Wiring:
    """Arrays that a search changes as it moves users.

    Attributes
    ----------
    broker
        Of each user.
    load
        Of each broker.
    followers
        How many users on each broker (column) want each sub-channel (row).
    sources
        What users on each broker (column) send in each sub-channel (row).
    """

    broker: Int32s
    load: Int64s
    followers: Int32s
    sources: Int64s

    @classmethod
    def of(cls, demand: Demand, broker: Int32s) -> "Wiring":
        """O(users + entries). `broker` is copied."""
        shape = (demand.subchannels, demand.brokers)
        load = np.zeros(demand.brokers, np.int64)
        np.add.at(load, broker, demand.load)
        followers = np.zeros(shape, np.int32)
        fan = np.repeat(broker, np.diff(demand.wanted_offsets))
        np.add.at(followers, (demand.wanted, fan), 1)
        sources = np.zeros(shape, np.int64)
        origin = np.repeat(broker, np.diff(demand.rate_offsets))
        np.add.at(sources, (demand.rate_subchannels, origin), demand.rates)
        return cls(broker.astype(np.int32), load, followers, sources)

    def copy(self) -> "Wiring":
        return Wiring(
            self.broker.copy(),
            self.load.copy(),
            self.followers.copy(),
            self.sources.copy(),
        )
