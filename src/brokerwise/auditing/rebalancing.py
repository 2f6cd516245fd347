"""An independent check of a rebalancing: who moves, and what each broker carries then.

Nothing of a policy is called here; the load law is stated again, on purpose.
"""

from collections.abc import Iterator

import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.snapshot import Rebalancing, Snapshot

_SHOWN = 3


def violations(
    snapshot: Snapshot, held: Bools, open_: Bools, closing: Bools, found: Rebalancing
) -> list[str]:
    """What is wrong with a rebalancing, in words; nothing if it may be trusted."""
    wrong = list(_wrong_moves(snapshot, held, open_, found))
    if wrong:
        return wrong
    after = np.array(snapshot.places)
    after[found.sessions] = found.targets
    wrong += _stay_on_closing(closing, after)
    wrong += _meetings(snapshot, found, after)
    wrong += _wrong_loads("before", recounted(snapshot, snapshot.places), found.before)
    wrong += _wrong_loads("after", recounted(snapshot, after), found.after)
    return wrong + list(_wrong_bound(found, closing))


def recounted(snapshot: Snapshot, places: Int32s) -> Int64s:
    """What each broker carries: once for every topic that anyone on it wants, and
    once more for everyone who does."""
    broker = np.repeat(places, np.diff(snapshot.wanted.offsets))
    topic = snapshot.wanted.topics
    order = np.lexsort((topic, broker))
    broker, topic = broker[order], topic[order]
    first = np.ones(len(topic), np.bool_)
    first[1:] = (broker[1:] != broker[:-1]) | (topic[1:] != topic[:-1])
    carried = np.zeros(snapshot.brokers, np.int64)
    np.add.at(carried, broker, snapshot.rates[topic])
    np.add.at(carried, broker[first], snapshot.rates[topic[first]])
    return carried


def _wrong_moves(
    snapshot: Snapshot, held: Bools, open_: Bools, found: Rebalancing
) -> Iterator[str]:
    if len(found.sessions) != len(found.targets):
        yield f"{len(found.sessions):,} sessions move to {len(found.targets):,} targets"
        return
    for what, values, limit in (
        ("session", found.sessions, snapshot.sessions),
        ("broker", found.targets, snapshot.brokers),
    ):
        if len(values) and not 0 <= values.min() <= values.max() < limit:
            yield f"there is no {what} {values.min()} or none {values.max()}"
            return
    if (np.diff(found.sessions) <= 0).any():
        yield "sessions are not in order, or one moves twice"
        return
    yield from _listed("moves to where it is", found, _staying(snapshot, found))
    yield from _listed("is held, and moves", found, held[found.sessions])
    yield from _listed(
        "moves to a broker that takes none", found, ~open_[found.targets]
    )


def _staying(snapshot: Snapshot, found: Rebalancing) -> Bools:
    same: Bools = snapshot.places[found.sessions] == found.targets
    return same


def _listed(what: str, found: Rebalancing, wrong: Bools) -> Iterator[str]:
    at = np.flatnonzero(wrong)
    for move in at[:_SHOWN]:
        yield f"session {found.sessions[move]} {what} (broker {found.targets[move]})"
    if len(at) > _SHOWN:
        yield f"and {len(at) - _SHOWN:,} more: {what}"


def _stay_on_closing(closing: Bools, after: Int32s) -> Iterator[str]:
    left = int(closing[after].sum())
    if left:
        yield f"{left:,} sessions stay on brokers that close"


def _meetings(snapshot: Snapshot, found: Rebalancing, after: Int32s) -> Iterator[str]:
    """Two sessions of one user on a broker, one of which was brought there."""
    key = snapshot.users.astype(np.int64) * snapshot.brokers + after
    moved = key[found.sessions]
    values, counts = np.unique(key, return_counts=True)
    crowded = values[counts > 1]
    for where in moved[np.isin(moved, crowded)][:_SHOWN]:
        user, broker = divmod(int(where), snapshot.brokers)
        yield f"two sessions of user {user} meet on broker {broker}"


def _wrong_loads(when: str, counted: Int64s, claimed: Int64s) -> Iterator[str]:
    if counted.shape != claimed.shape:
        yield f"{len(claimed):,} loads {when}, of {len(counted):,} brokers"
        return
    for broker in np.flatnonzero(counted != claimed)[:_SHOWN]:
        yield (
            f"load of broker {broker} {when}: found {claimed[broker]:,}, "
            f"counted {counted[broker]:,}"
        )


def _wrong_bound(found: Rebalancing, closing: Bools) -> Iterator[str]:
    """The bound must hold for the placements that are known: that with the moves, and
    that before them if nobody has to leave a broker."""
    best = found.after.max(initial=0)
    if not closing.any():
        best = min(best, found.before.max(initial=0))
    if found.bound > best:
        yield f"bound: found {found.bound:,}, but a maximum load of {best:,} is known"
