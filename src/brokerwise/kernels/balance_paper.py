"""The policies of Nguyen et al. (DEBS 2019), step by step: migration and shuffle."""

import numpy as np

from brokerwise.kernels.balance_state import (
    BYTES,
    LOAD,
    MOVES,
    NONE,
    State,
    affordable,
    burden,
    burdens,
    counted_brokers,
    first_below,
    fullest,
    may_go,
    meets,
    next_at,
    shift,
    spread,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Int64s

GOING_ON, BALANCED, IDLE, STUCK, SPENT, COOL = range(6)
"""How a migration stands: steps are left, cov is not above alpha, the mean load is not
above beta, there is no valid move, the budget is used up, no broker is hot."""


@kernel
def verdict(state: State, alpha: float, beta: float, hot: float) -> int:
    """Whether sessions are to move now, and if not, why. `hot` below 0: does not
    matter; otherwise cov does not."""
    brokers = counted_brokers(state)
    if brokers == 0 or state.tally[LOAD] <= beta * brokers:
        return IDLE
    if hot >= 0:
        level = (1 + hot) * state.tally[LOAD] / brokers
        return GOING_ON if state.loads[fullest(state)] > level else COOL
    return GOING_ON if spread(state) > alpha else BALANCED


@kernel
def migrate(
    state: State, similar: bool, alpha: float, beta: float, hot: float, steps: int
) -> int:
    """Up to `steps` moves of Algorithm 1's loop, to the least loaded broker or, if
    `similar`, to the one under the mean that shares most; returns how it stands.

    O(brokers) a move and what is looked at: sessions so heavy that no broker could take
    them are passed over at once.
    """
    shares = np.zeros(len(state.loads), np.int64)
    for _ in range(steps):
        found = verdict(state, alpha, beta, hot)
        if found == GOING_ON:
            found = _migrate_one(state, similar, shares)
        if found != GOING_ON:
            return found
    return GOING_ON


@leaf
def _migrate_one(state: State, similar: bool, shares: Int64s) -> int:
    """Move the heaviest session of the fullest broker that has a valid move."""
    source = fullest(state)
    lowest = emptiest(state, source)
    if lowest < 0:
        return STUCK
    before = state.loads[source]
    rank = next_at(state, source, first_below(state, before - state.loads[lowest]))
    while rank >= 0:
        session = state.order[rank]
        target = lowest
        if similar:
            target = _most_similar(state, session, shares)
        elif state.relative[session] != session:
            target = _emptiest_for(state, session)
        if target >= 0:
            after = state.loads[target] + burden(state, session, target)
            if after < before:
                if not affordable(state, session, target):
                    return SPENT
                shift(state, session, target)
                return GOING_ON
        rank = next_at(state, source, rank + 1)
    return STUCK


@leaf
def emptiest(state: State, source: int) -> int:
    """The open broker with least load, other than one; -1 without any."""
    found = NONE
    for broker in range(len(state.loads)):
        if state.open[broker] and broker != source:
            if found < 0 or state.loads[broker] < state.loads[found]:
                found = broker
    return found


@leaf
def _emptiest_for(state: State, session: int) -> int:
    """The broker with least load to which a session may go; -1 without any."""
    found = NONE
    for broker in range(len(state.loads)):
        if found < 0 or state.loads[broker] < state.loads[found]:
            if may_go(state, session, broker):
                found = broker
    return found


@leaf
def _most_similar(state: State, session: int, shares: Int64s) -> int:
    """Of the brokers under the mean to which a session may go the one that has most of
    what it wants already, by rate; of equals the one with least load; -1 without any.
    """
    # Who needs least more shares most: what a session sends is the same everywhere.
    burdens(state, session, shares)
    mean = -(-state.tally[LOAD] // counted_brokers(state))  # less: under the mean
    found = NONE
    for broker in range(len(state.loads)):
        if state.loads[broker] >= mean:
            continue
        if found >= 0:
            if shares[broker] > shares[found]:
                continue
            if shares[broker] == shares[found]:
                if state.loads[broker] >= state.loads[found]:
                    continue
        if may_go(state, session, broker):
            found = broker
    return found


@kernel
def shuffled(state: State) -> Int64s:
    """Where the greedy shuffle puts each session: all that may move are taken out, and
    then, the heaviest first, put on the open broker with least load.

    O(sessions * brokers + pairs). Nothing is moved yet; counts are as they were.
    """
    places = state.places.copy()
    loads = state.loads.copy()
    counts = state.counts  # changed meanwhile, then as before
    taken = np.zeros(len(places), np.bool_)
    for session in range(len(places)):
        taken[session] = state.movable[session]
        if taken[session]:
            _count(state, loads, session, places[session], -1)
    for session in state.order:
        if not taken[session]:
            continue
        target = _emptiest_of(state, loads, places, session)
        places[session] = target
        _count(state, loads, session, target, 1)
    for session in range(len(places)):
        if taken[session] and places[session] != state.places[session]:
            for at in range(state.offsets[session], state.offsets[session + 1]):
                counts[state.topics[at], places[session]] -= 1
                counts[state.topics[at], state.places[session]] += 1
    return places


@leaf
def _count(state: State, loads: Int64s, session: int, broker: int, by: int) -> None:
    """Add a session to a broker, or take it out."""
    for at in range(state.offsets[session], state.offsets[session + 1]):
        topic = state.topics[at]
        rate = state.rates[topic]
        count = state.counts[topic, broker]
        alone = count == 1 if by < 0 else count == 0
        loads[broker] += by * (2 * rate if alone else rate)
        state.counts[topic, broker] = count + by


@leaf
def _emptiest_of(state: State, loads: Int64s, places: Int64s, session: int) -> int:
    """Where the shuffle puts a session; where it was, if it may go nowhere."""
    home, found = places[session], NONE
    for broker in range(len(loads)):
        if not state.open[broker]:
            continue
        if found >= 0 and loads[broker] >= loads[found]:
            continue
        if broker == home or not _met(state, places, session, broker):
            found = broker
    return home if found < 0 else found


@leaf
def _met(state: State, places: Int64s, session: int, broker: int) -> bool:
    """Whether another session of the same user is on a broker by these places."""
    other = state.relative[session]
    while other != session:
        if places[other] == broker:
            return True
        other = state.relative[other]
    return meets(state, session, broker)


@kernel
def costs_of(state: State, places: Int64s) -> tuple[int, int]:
    """How many sessions these places move from where they were, with how much state."""
    moves = bytes_ = 0
    for session in range(len(places)):
        if places[session] != state.origin[session]:
            moves += 1
            bytes_ += state.state_bytes[session]
    return moves, bytes_


@kernel
def go_to(state: State, places: Int64s) -> None:
    """Move every session to these places, whatever it takes."""
    for session in range(len(places)):
        if places[session] != state.places[session]:
            shift(state, session, places[session])


@kernel
def evacuate(state: State, closing: Bools, held: Bools) -> int:
    """All sessions of closing brokers that are not held leave, the heaviest first, each
    to the open broker with least load after it; returns how many cannot."""
    added = np.zeros(len(state.loads), np.int64)
    left = 0
    for session in state.order:
        if held[session] or not closing[state.places[session]]:
            continue
        burdens(state, session, added)
        found = NONE
        for broker in range(len(state.loads)):
            if may_go(state, session, broker):
                after = state.loads[broker] + added[broker]
                if found < 0 or after < state.loads[found] + added[found]:
                    found = broker
        if found < 0:
            left += 1
        else:
            shift(state, session, found)
    return left


@kernel
def within_limits(state: State, moves: int, bytes_: int) -> bool:
    return bool(moves <= state.limits[MOVES] and bytes_ <= state.limits[BYTES])
