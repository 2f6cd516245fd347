"""What a latency model says about the topics that it is asked about."""

import numpy as np

from brokerwise.model.arrays import Bools
from brokerwise.model.colocation import TopicTable
from brokerwise.storage.latency_model import StoredModel


def outside(topics: TopicTable, model: StoredModel) -> Bools:
    """The topics that lie outside the range of those that a model was trained on."""
    found = np.zeros(len(topics), np.bool_)
    for field, (low, high) in model.header.ranges.items():
        values = getattr(topics, field)
        found |= (values < low) | (values > high)
    return found


def source_of(model: StoredModel) -> str:
    """Whether a model was trained on what was measured, simulated, or both."""
    return " and ".join(sorted({each.source for each in model.header.trained_on}))
