"""The lowest maximum load there is, by trying all placements and by HiGHS."""

from itertools import product

import highspy
import numpy as np

from brokerwise.model.snapshot import Snapshot
from brokerwise.planners.highs import silent


def lowest_by_trying(snapshot: Snapshot, moves: int) -> int:
    """All placements with so many sessions moved at most."""
    places = snapshot.places.tolist()
    return min(
        int(snapshot.loads(np.array(tried, np.int32)).max(initial=0))
        for tried in product(range(snapshot.brokers), repeat=snapshot.sessions)
        if sum(a != b for a, b in zip(tried, places, strict=True)) <= moves
    )


def lowest_by_highs(snapshot: Snapshot, moves: int) -> int:
    """An integer program: who is where, and which broker receives which topic."""
    highs = silent(mip_rel_gap=0.0)
    brokers, sessions = range(snapshot.brokers), range(snapshot.sessions)
    topics = range(len(snapshot.rates))
    at = {(s, b): highs.addBinary() for s in sessions for b in brokers}
    received = {(t, b): highs.addBinary() for t in topics for b in brokers}
    highest = highs.addVariable(lb=0.0)
    for s in sessions:
        highs.addConstr(highs.qsum(at[s, b] for b in brokers) == 1)
        for t in snapshot.wanted.of(s).tolist():
            for b in brokers:
                highs.addConstr(at[s, b] <= received[t, b])
    own = snapshot.own_loads().tolist()
    for b in brokers:
        incoming = (int(snapshot.rates[t]) * received[t, b] for t in topics)
        outgoing = (own[s] * at[s, b] for s in sessions)
        highs.addConstr(highs.qsum([*incoming, *outgoing]) <= highest)
    staying = highs.qsum(at[s, int(snapshot.places[s])] for s in sessions)
    highs.addConstr(staying >= snapshot.sessions - moves)
    highs.minimize(highest)
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return round(float(highs.getObjectiveValue()))
