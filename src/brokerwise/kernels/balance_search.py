"""The search of `planned`: relieve brokers until none is above a level, with few moves;
then improve loads by single moves and swaps, and take back moves that are not
needed.
"""

import numpy as np

from brokerwise.kernels.balance_state import (
    BYTES,
    LOAD,
    MOVES,
    NONE,
    WORK,
    State,
    affordable,
    burden,
    burdens,
    counted_brokers,
    first_below,
    fullest,
    last_at,
    may_go,
    next_at,
    relief,
    shift,
    spread,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Int64s

MOST_LOOKS = 64
"""Sessions of one broker that are looked at for one move."""


FEW = 16
"""Sessions that want a topic on a broker are few."""

REACHED, MISSED, UNFINISHED = range(3)
"""How relieving ends: no broker is above the level, one is, steps are left."""

SESSIONS = 32
"""Sessions of a broker that are tried, the heaviest that could help first."""
TARGETS = 8
"""Brokers that are tried, the emptiest first."""


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
    stuck before are left as they are. At most `steps` moves, each in O(brokers * topics
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


@kernel
def polish(state: State, tolerance: float, given_up: Bools, work: int) -> bool:
    """Improve until nothing more is found, or so much work has been done: then False.

    No step raises the maximum load or cov, or leaves the budget; each lowers the load
    of a broker, and all that it touches stay below what that was. Brokers that are at
    most `tolerance` above the mean are left alone, and those that are `given_up`.
    """
    near = np.zeros(TARGETS, np.int64)
    added = np.zeros(len(state.loads), np.int64)
    moved = _moved(state)
    end = state.tally[WORK] + work
    while state.tally[WORK] < end:
        source = _next_source(state, given_up, tolerance)
        if source < 0:
            return True
        _nearest(state, source, near)
        if (
            _move(state, source, added)
            or _swap(state, source, near)
            or _exchange(state, source, near, moved)
        ):
            given_up[:] = False
        else:
            given_up[source] = True
    return False


@kernel
def _moved(state: State) -> Int64s:
    """Sessions that could return to where they were, the lightest first."""
    found = np.empty(state.tally[MOVES], np.int64)
    count = 0
    for at in range(len(state.order) - 1, -1, -1):
        session = state.order[at]
        if may_return(state, session):
            found[count] = session
            count += 1
    return found[:count]


@leaf
def may_return(state: State, session: int) -> bool:
    """Whether a session has been moved, and from a broker that does not close."""
    home = state.origin[session]
    if state.places[session] == home:
        return False
    return bool(state.movable[session] and state.counted[home])


@leaf
def _next_source(state: State, given_up: Bools, tolerance: float) -> int:
    """The fullest broker that is worth relieving; -1 if none is."""
    level = (1 + tolerance) * state.tally[LOAD] / max(1, counted_brokers(state))
    found = NONE
    for broker in range(len(state.loads)):
        if state.counted[broker] and not given_up[broker]:
            if found < 0 or state.loads[broker] > state.loads[found]:
                found = broker
    if found >= 0 and state.loads[found] <= level:
        return -1
    return found


@leaf
def _nearest(state: State, source: int, near: Int64s) -> None:
    """The emptiest open brokers but one, ascending; -1 where there are no more."""
    count = 0
    near[:] = -1
    for broker in range(len(state.loads)):
        if not state.open[broker] or broker == source:
            continue
        if count == len(near):
            if state.loads[broker] >= state.loads[near[count - 1]]:
                continue
            count -= 1
        at = count
        while at > 0 and state.loads[near[at - 1]] > state.loads[broker]:
            near[at] = near[at - 1]
            at -= 1
        near[at] = broker
        count += 1


@leaf
def _better(
    state: State, source: int, other: int, before: int, cov: float, top: bool
) -> bool:
    """Whether a change that has been made is to stay."""
    if state.loads[source] >= before or state.loads[other] >= before:
        return False
    if state.tally[MOVES] > state.limits[MOVES]:
        return False
    if state.tally[BYTES] > state.limits[BYTES]:
        return False
    after = spread(state)
    return bool(after < cov or (top and after == cov))


@leaf
def _move(state: State, source: int, added: Int64s) -> bool:
    """The move of one session after which its source and target are lowest."""
    before = state.loads[source]
    best, best_target, best_after = NONE, NONE, before
    lowest = before
    for broker in range(len(state.loads)):
        if state.open[broker] and broker != source:
            lowest = min(lowest, state.loads[broker])
    rank = next_at(state, source, first_below(state, before - lowest))
    for _ in range(4 * SESSIONS):
        if rank < 0 or before - 2 * state.ranked[rank] >= best_after:
            break
        session = state.order[rank]
        here = before - relief(state, session)
        if here < best_after:
            burdens(state, session, added)
            for broker in range(len(state.loads)):
                after = max(here, state.loads[broker] + added[broker])
                if after < best_after and may_go(state, session, broker):
                    if affordable(state, session, broker):
                        best, best_target, best_after = session, broker, after
        rank = next_at(state, source, rank + 1)
    if best < 0:
        return False
    cov, top = spread(state), source == fullest(state)
    shift(state, best, best_target)
    if _better(state, source, best_target, before, cov, top):
        return True
    shift(state, best, source)
    return False


@leaf
def _swap(state: State, source: int, near: Int64s) -> bool:
    """A session for a lighter one of another broker."""
    before = state.loads[source]
    cov, top = spread(state), source == fullest(state)
    rank = next_at(state, source, 0)
    for _ in range(SESSIONS):
        if rank < 0:
            return False
        session = state.order[rank]
        for target in near:
            if target < 0 or state.loads[target] >= before:
                break
            if not may_go(state, session, target):
                continue
            half = (before - state.loads[target]) // 2
            middle = first_below(state, state.ranked[rank] - half + 1)
            for side in range(2):
                if side:
                    other_rank = last_at(state, target, middle - 1)
                else:
                    other_rank = next_at(state, target, middle)
                if other_rank <= rank:
                    continue
                if _swapped(state, session, state.order[other_rank], before, cov, top):
                    return True
        rank = next_at(state, source, rank + 1)
    return False


@leaf
def _swapped(
    state: State, session: int, other: int, before: int, cov: float, top: bool
) -> bool:
    """Swap two sessions if that is better."""
    source, target = state.places[session], state.places[other]
    if not (may_go(state, other, source) or state.origin[other] == source):
        return False
    shift(state, session, target)
    shift(state, other, source)
    if _better(state, source, target, before, cov, top):
        return True
    shift(state, other, target)
    shift(state, session, source)
    return False


@leaf
def _exchange(state: State, source: int, near: Int64s, moved: Int64s) -> bool:
    """Where the budget is used up: a session leaves, and another one, elsewhere, is
    left where it was instead; or one that came here returns."""
    before = state.loads[source]
    cov, top = spread(state), source == fullest(state)
    rank = next_at(state, source, 0)
    for _ in range(SESSIONS):
        if rank < 0:
            return False
        session = state.order[rank]
        home = state.origin[session]
        if home != source and state.counted[home]:
            shift(state, session, home)
            if _better(state, source, home, before, cov, top):
                return True
            shift(state, session, source)
        for target in near:
            if target < 0 or state.loads[target] >= before:
                break
            if not may_go(state, session, target):
                continue
            if affordable(state, session, target):
                continue
            shift(state, session, target)
            if state.loads[target] < before:
                for other in moved[:SESSIONS]:
                    if _returned(state, other, source, target, before, cov, top):
                        return True
            shift(state, session, source)
        rank = next_at(state, source, rank + 1)
    return False


@leaf
def _returned(
    state: State,
    session: int,
    source: int,
    target: int,
    before: int,
    cov: float,
    top: bool,
) -> bool:
    """Take one move back if all is better then."""
    away, home = state.places[session], state.origin[session]
    if away == home:
        return False
    shift(state, session, home)
    if state.loads[home] < before:
        if _better(state, source, target, before, cov, top):
            return True
    shift(state, session, away)
    return False


@kernel
def trim(state: State, highest: int, limit: float) -> int:
    """Take moves back that a maximum load and a cov do not need; returns how many.
    The lightest first; O(brokers + topics of the session) each."""
    undone = 0
    for session in _moved(state):
        away = state.places[session]
        shift(state, session, state.origin[session])
        if state.loads[fullest(state)] <= highest and spread(state) <= limit:
            undone += 1
        else:
            shift(state, session, away)
    return undone
