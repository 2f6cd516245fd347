"""Relieving brokers until none is above some level, with few moves."""

import numpy as np

from brokerwise.kernels.balance_state import (
    NONE,
    State,
    affordable,
    burden,
    burdens,
    first_below,
    last_at,
    may_go,
    next_at,
    relief,
    shift,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Int64s

MOST_LOOKS = 64
"""Sessions of one broker that are looked at for one move."""


FEW = 16
"""Sessions that want a topic on a broker are few."""

REACHED, MISSED, UNFINISHED = range(3)
"""How relieving ends: no broker is above the level, one is, steps are left."""


@kernel
def relieve(
    state: State,
    level: int,
    sharing: bool,
    light: bool,
    choice: int,
    stuck: Bools,
    steps: int,
) -> int:
    """Move sessions from brokers above a level to others, none of which gets above it.

    The fullest broker first, its heaviest sessions first, so moves are few; if `light`,
    at last the lightest one that is enough. A session goes where the load after it is
    least; if `sharing`, where it adds least. It is the best of `choice` sessions that
    could go. A broker that cannot be relieved is `stuck`, and ends it; those that are
    stuck before are left as they are. At most so many moves, each in O(brokers * topics
    of a session); no session is moved twice.
    """
    added = np.zeros(len(state.loads), np.int64)
    for _ in range(steps):
        source = _fullest_but(state, stuck)
        if source < 0 or state.loads[source] <= level:
            return REACHED
        if not _shed(state, source, level, sharing, light, choice, added):
            stuck[source] = True
            return MISSED
    return UNFINISHED


@leaf
def _fullest_but(state: State, without: Bools) -> int:
    found = NONE
    for broker in range(len(state.loads)):
        if state.counted[broker] and not without[broker]:
            if found < 0 or state.loads[broker] > state.loads[found]:
                found = broker
    return found


@leaf
def _shed(
    state: State,
    source: int,
    level: int,
    sharing: bool,
    light: bool,
    choice: int,
    added: Int64s,
) -> bool:
    """Move one session away: the heaviest; if `light`, the lightest that is enough."""
    room = level - _least_load(state, source)
    if room <= 0:
        return False
    excess = state.loads[source] - level
    session, target = NONE, NONE
    if light:
        session, target = _last_one(state, source, level, excess, room, sharing, added)
    if session < 0:
        session, target = _heaviest(state, source, level, room, sharing, choice, added)
    if session < 0:
        return False
    shift(state, session, target)
    if sharing:
        _follow(state, session, source, level)
    return True


@leaf
def _follow(state: State, session: int, source: int, level: int) -> None:
    """Others that want what few want here any more come along to the same broker, as
    long as that is less for both together, and there is a need and room."""
    target = state.places[session]
    for at in range(state.offsets[session], state.offsets[session + 1]):
        topic = state.topics[at]
        if state.counts[topic, source] == 0 or state.counts[topic, source] > FEW:
            continue
        for place in range(state.fans[topic], state.fans[topic + 1]):
            other = 0 + state.fan[place]  # as wide as others
            if state.places[other] != source or not state.movable[other]:
                continue
            if state.loads[source] <= level:
                return
            more = burden(state, other, target)
            if state.loads[target] + more > level or more >= relief(state, other):
                continue
            if may_go(state, other, target) and affordable(state, other, target):
                shift(state, other, target)


@leaf
def _least_load(state: State, source: int) -> int:
    """The least load of an open broker, other than one; of none, that of the one."""
    least, found = state.loads[source], False
    for broker in range(len(state.loads)):
        if state.open[broker] and broker != source:
            if not found or state.loads[broker] < least:
                least, found = state.loads[broker], True
    return int(least)


@leaf
def _last_one(
    state: State,
    source: int,
    level: int,
    excess: int,
    room: int,
    sharing: bool,
    added: Int64s,
) -> tuple[int, int]:
    """The lightest session whose leaving is enough, and its target; -1 without any.

    One that alone receives some topic here takes more with it than it is sent.
    """
    enough = first_below(state, excess)
    rank = next_at(state, source, first_below(state, min(excess, room + 1)))
    for _ in range(MOST_LOOKS):
        if rank < 0 or 2 * state.ranked[rank] < excess:
            break
        session = state.order[rank]
        if relief(state, session) >= excess:
            target = _target(state, session, level, sharing, added)
            if target >= 0:
                return session, target
        rank = next_at(state, source, rank + 1)
    rank = last_at(state, source, enough - 1)
    for _ in range(MOST_LOOKS):
        if rank < 0 or state.ranked[rank] > room:
            break
        session = state.order[rank]
        target = _target(state, session, level, sharing, added)
        if target >= 0:
            return session, target
        rank = last_at(state, source, rank - 1)
    return -1, -1


@leaf
def _heaviest(
    state: State,
    source: int,
    level: int,
    room: int,
    sharing: bool,
    choice: int,
    added: Int64s,
) -> tuple[int, int]:
    """Of the heaviest sessions that can go somewhere the one that takes most from here
    and brings least there, and its target; -1 without any."""
    best, best_target, best_gain = NONE, NONE, 0
    found = 0
    rank = next_at(state, source, first_below(state, room + 1))
    for _ in range(MOST_LOOKS):
        if rank < 0 or found == choice:
            break
        session = state.order[rank]
        target = _target(state, session, level, sharing, added)
        if target >= 0:
            found += 1
            gain = 2 * relief(state, session) - added[target]
            if best < 0 or gain > best_gain:
                best, best_target, best_gain = session, target, gain
        rank = next_at(state, source, rank + 1)
    return best, best_target


@leaf
def _target(
    state: State, session: int, level: int, sharing: bool, added: Int64s
) -> int:
    """Where a session goes so that no broker gets above the level, with what it adds
    to each in an array; -1: nowhere."""
    home = state.origin[session]
    if state.places[session] == home and not affordable(state, session, NONE):
        return -1
    burdens(state, session, added)
    found = NONE
    for broker in range(len(state.loads)):
        after = state.loads[broker] + added[broker]
        if after > level:
            continue
        if found >= 0:
            if sharing and added[broker] != added[found]:
                if added[broker] > added[found]:
                    continue
            elif after >= state.loads[found] + added[found]:
                continue
        if may_go(state, session, broker):
            found = broker
    return found
