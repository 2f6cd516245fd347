"""Small fleets for tests of balancing: sessions that share nothing."""

from collections.abc import Sequence

import numpy as np

from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Snapshot


def fleet_of(loads: Sequence[Sequence[int]], **more: int) -> Snapshot:
    """`loads[b]` are what the sessions on broker b are sent, each by a topic of its
    own; by the load law they weigh twice that."""
    rates = [load for sessions in loads for load in sessions]
    places = [broker for broker, sessions in enumerate(loads) for _ in sessions]
    count = len(rates)
    wanted = Interests(np.arange(count + 1), np.arange(count, dtype=np.int32))
    return Snapshot.of(
        len(loads),
        np.array(rates, np.int64),
        wanted,
        np.array(places, np.int32),
        **more,
    )


FAILURE_CASES: dict[str, list[list[int]]] = {
    "ten full brokers and an empty one": [[10] * 8 for _ in range(10)] + [[]],
    "one of four has nearly all": [[1] * 12, [1] * 2, [1], [1]],
    "five full brokers and an empty one": [[5] * 10 for _ in range(5)] + [[]],
    "two brokers, 90 and 10": [[1] * 90, [1] * 10],
}
"""Loads on which other balancers never came to rest."""
