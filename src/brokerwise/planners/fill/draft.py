"""Which pairs go where, as far as numbers by topic and broker say."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.load import broker_loads
from brokerwise.planners.fill.demand import Demand


@dataclass(frozen=True, eq=False)
class Draft:
    """So many pairs of a topic on a broker; one entry for a topic and broker, in any
    order."""

    topic: Int32s
    broker: Int32s
    pairs: Int64s

    def served(self, demand: Demand) -> Int64s:
        """The pairs of each topic that are served."""
        count = np.bincount(self.topic, self.pairs, demand.topics)
        return count.astype(np.int64)

    def value(self, demand: Demand) -> int:
        """What it delivers: the best pairs of each topic are served first."""
        return served_value(demand, self.served(demand))

    def loads(self, demand: Demand, brokers: int) -> Int64s:
        return broker_loads(demand.rates, self.topic, self.broker, self.pairs, brokers)


def served_value(demand: Demand, served: Int64s) -> int:
    """What the best so many pairs of each topic are worth."""
    before = np.cumsum(demand.pairs) - demand.pairs  # in all earlier classes
    first = before[demand.starts[:-1].clip(max=max(0, len(before) - 1))]
    topic = demand.topic
    within = before - first[topic]
    taken = np.clip(served[topic] - within, 0, demand.pairs)
    return int(taken @ demand.value)
