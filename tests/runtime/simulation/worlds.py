"""Small worlds for tests."""

from math import inf

import numpy as np

from brokerwise.runtime.simulation.world import (
    SteppedRates,
    Subscriptions,
    Visits,
    World,
)


def still_world(loads: list[list[int]], seconds: float = 600.0) -> World:
    """Broker b is the nearest of users who are sent `loads[b]`, each by a topic of its
    own, all the time; by the load law they weigh twice that."""
    rates = np.array([[load for users in loads for load in users]], np.int64)
    homes = [b for b, users in enumerate(loads) for _ in users]
    count = len(homes)
    numbers = np.arange(count, dtype=np.int32)
    always = np.zeros(count), np.full(count, inf)
    return World(
        "still",
        seconds,
        np.array([(b, 0) for b in range(len(loads))]),
        np.array([(b, 0) for b in homes]),
        count,
        Visits(numbers, *always),
        Subscriptions(numbers, numbers, *always),
        SteppedRates(np.zeros(1), rates),
    )
