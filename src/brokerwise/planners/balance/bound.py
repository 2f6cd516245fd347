"""How low the maximum load of a fleet can be at best."""

import numpy as np

from brokerwise.model.snapshot import Snapshot


def lower_bound(snapshot: Snapshot, brokers: int) -> int:
    """No placement of all sessions on so many brokers has a lower maximum load.

    Every topic that is wanted is received at least once and sent to each of its
    sessions: some broker carries at least the mean of that. And the broker of the
    heaviest session receives all of its topics and sends them to it. O(pairs).
    """
    if not brokers or not snapshot.sessions:
        return 0
    pairs = np.bincount(snapshot.wanted.topics, minlength=len(snapshot.rates))
    total = int((snapshot.rates * (pairs + (pairs > 0))).sum())
    heaviest = int(snapshot.own_loads().max())
    return max(-(-total // brokers), 2 * heaviest)
