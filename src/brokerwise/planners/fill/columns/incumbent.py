"""The best plan so far, as patterns."""

from collections.abc import Sequence

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.planners.fill.columns.supply import Pattern
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import served_value


class Incumbent:
    """Keeps the most valuable of the plans that it is offered."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self.value = -1
        self.patterns: list[Pattern] = []

    def offer(self, patterns: Sequence[Pattern]) -> int:
        """Take a plan if it is better; returns the value of the best."""
        value = served_value(self._demand, served(patterns, self._demand.topics))
        if value > self.value:
            self.value, self.patterns = value, list(patterns)
        return self.value


def served(patterns: Sequence[Pattern], topics: int) -> Int64s:
    """The pairs of each topic that are in patterns."""
    count = np.zeros(topics, np.int64)
    if patterns:
        topic = np.concatenate([pattern.topic for pattern in patterns])
        pairs = np.concatenate([pattern.pairs for pattern in patterns])
        np.add.at(count, topic, pairs)
    return count
