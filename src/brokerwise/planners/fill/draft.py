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
    return int(taken_by_class(demand, served) @ demand.value)


def taken_by_class(demand: Demand, served: Int64s) -> Int64s:
    """The pairs of each class that are served, with so many of each topic."""
    of_class = served[demand.topic] - demand.better
    taken: Int64s = np.minimum(np.maximum(of_class, 0), demand.pairs)
    return taken
