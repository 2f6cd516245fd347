"""Sessions on brokers, and what a move of one makes of the loads: exact, and quick."""

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Int32s, Int64s

UInt32s = npt.NDArray[np.uint32]

WORD = 32
"""Sessions of a broker are kept as bits: how many there are in a word."""

LOAD, MOVES, BYTES, WORK = range(4)
"""What `State.tally` counts: the load of all brokers that count, the sessions that are
not where they were, the state of these, and the work: looks at counts of topics."""

NONE = cast(int, np.int64(-1))
"""No session, no broker. Of their type, which -1 is not: compiled for each."""

EXACT = 2**62
ABREAST = 8  # counts of a topic on brokers are looked at together


class State(NamedTuple):
    """Where sessions are now, and all that depends on it; only `shift` changes it.

    `order` has the sessions by own load, the heaviest first, of equals the first; the
    place of a session in it is its rank. `words` has a bit for each broker and rank,
    set where that session is there and may move, and `sums` one for each of its words.
    Numbers of sessions and brokers are all of one type: kernels are compiled for each.
    """

    rates: Int64s
    offsets: Int64s
    topics: Int32s
    fans: Int64s  # where the sessions of each topic begin in `fan`
    fan: Int32s
    order: Int64s
    rank: Int32s
    ranked: Int64s  # own loads by rank
    state_bytes: Int64s
    origin: Int64s
    relative: Int64s  # the next session of the same user, around
    movable: Bools
    open: Bools
    counted: Bools
    places: Int64s
    counts: Int32s  # of pairs, by topic and broker
    absent: Bools  # where a count is 0: a quarter of the memory to look through
    loads: Int64s
    words: UInt32s
    sums: UInt32s
    tally: Int64s
    limits: Int64s  # by MOVES and BYTES


@kernel
def settle(state: State) -> None:
    """Count everything from `places`, into arrays that are zero."""
    at_topic = state.fans[:-1].copy()
    for session in range(len(state.places)):
        place = state.places[session]
        for at in range(state.offsets[session], state.offsets[session + 1]):
            topic = state.topics[at]
            state.counts[topic, place] += 1
            state.fan[at_topic[topic]] = session
            at_topic[topic] += 1
        if state.movable[session]:
            put_in(state, place, state.rank[session])
    for topic in range(len(state.rates)):
        rate = state.rates[topic]
        for broker in range(len(state.loads)):
            pairs = state.counts[topic, broker]
            state.absent[topic, broker] = pairs == 0
            if pairs:
                state.loads[broker] += rate * (1 + pairs)
    for broker in range(len(state.loads)):
        if state.counted[broker]:
            state.tally[LOAD] += state.loads[broker]


@leaf
def relief(state: State, session: int) -> int:
    """By how much the load of its broker falls if a session leaves it."""
    place = state.places[session]
    total = 0
    for at in range(state.offsets[session], state.offsets[session + 1]):
        topic = state.topics[at]
        total += state.rates[topic] * (1 + (state.counts[topic, place] == 1))
    state.tally[WORK] += state.offsets[session + 1] - state.offsets[session]
    return total


@leaf
def burden(state: State, session: int, broker: int) -> int:
    """By how much the load of another broker grows if a session comes to it."""
    total = 0
    for at in range(state.offsets[session], state.offsets[session + 1]):
        topic = state.topics[at]
        total += state.rates[topic] * (1 + (state.counts[topic, broker] == 0))
    state.tally[WORK] += state.offsets[session + 1] - state.offsets[session]
    return total


@leaf
def burdens(state: State, session: int, found: Int64s) -> None:
    """The same for all brokers at once, in an array."""
    brokers = len(found)
    own = state.ranked[state.rank[session]]
    for broker in range(brokers):
        found[broker] = own
    for at in range(state.offsets[session], state.offsets[session + 1]):
        rate = state.rates[state.topics[at]]
        absent = state.absent[state.topics[at]]
        for broker in range(brokers):
            found[broker] += rate if absent[broker] else 0
    length = state.offsets[session + 1] - state.offsets[session]
    state.tally[WORK] += length * (1 + brokers // ABREAST)


@leaf
def shift(state: State, session: int, target: int) -> None:
    """Move a session to another broker."""
    source = state.places[session]
    lost, gained = relief(state, session), burden(state, session, target)
    for at in range(state.offsets[session], state.offsets[session + 1]):
        topic = state.topics[at]
        state.counts[topic, source] -= 1
        state.counts[topic, target] += 1
        state.absent[topic, source] = state.counts[topic, source] == 0
        state.absent[topic, target] = False
    state.loads[source] -= lost
    state.loads[target] += gained
    if state.counted[source]:
        state.tally[LOAD] -= lost
    if state.counted[target]:
        state.tally[LOAD] += gained
    change = changed(state, session, target)
    state.tally[MOVES] += change
    state.tally[BYTES] += change * state.state_bytes[session]
    if state.movable[session]:
        take_out(state, source, state.rank[session])
        put_in(state, target, state.rank[session])
    state.places[session] = target


@leaf
def changed(state: State, session: int, target: int) -> int:
    """How many more sessions would be away from where they were: -1, 0 or 1."""
    home = state.origin[session]
    return int(target != home) - int(state.places[session] != home)


@leaf
def affordable(state: State, session: int, target: int) -> bool:
    """Whether the budget allows a move. One that takes nothing of it is allowed even
    where it is overdrawn, as it is when many had to leave a broker that closes."""
    change = changed(state, session, target)
    if change <= 0:
        return True
    if state.tally[MOVES] >= state.limits[MOVES]:
        return False
    return bool(state.state_bytes[session] <= state.limits[BYTES] - state.tally[BYTES])


@leaf
def meets(state: State, session: int, broker: int) -> bool:
    """Whether another session of the same user is on a broker, or was: moves of a plan
    are made in any order."""
    other = state.relative[session]
    while other != session:
        if state.places[other] == broker or state.origin[other] == broker:
            return True
        other = state.relative[other]
    return False


@leaf
def may_go(state: State, session: int, broker: int) -> bool:
    """Whether a session may be moved to a broker that it is not on."""
    return (
        state.open[broker]
        and broker != state.places[session]
        and not meets(state, session, broker)
    )


@leaf
def fullest(state: State) -> int:
    """Of the brokers that count the one with most load; -1 without any."""
    found = NONE
    for broker in range(len(state.loads)):
        if state.counted[broker]:
            if found < 0 or state.loads[broker] > state.loads[found]:
                found = broker
    return found


@leaf
def counted_brokers(state: State) -> int:
    found = 0
    for broker in range(len(state.loads)):
        found += state.counted[broker]
    return found


@leaf
def spread(state: State) -> float:
    """cov of the brokers that count; where squares of loads are not exact, nearly."""
    brokers, total = counted_brokers(state), state.tally[LOAD]
    if total == 0:
        return 0.0
    squares = 0.0
    exact = total < EXACT // brokers
    for broker in range(len(state.loads)):
        if state.counted[broker]:
            if exact:
                distance = float(brokers * state.loads[broker] - total)
            else:
                distance = float(brokers) * state.loads[broker] - float(total)
            squares += distance * distance
    return float((squares / brokers) ** 0.5 / total)


@leaf
def first_below(state: State, load: int) -> int:
    """The rank of the first session whose own load is below some load."""
    low, high = 0, len(state.ranked)
    while low < high:
        middle = (low + high) // 2
        if state.ranked[middle] < load:
            high = middle
        else:
            low = middle + 1
    return low


@leaf
def put_in(state: State, broker: int, rank: int) -> None:
    word = rank // WORD
    state.words[broker, word] |= 1 << int(rank % WORD)
    state.sums[broker, word // WORD] |= 1 << int(word % WORD)


@leaf
def take_out(state: State, broker: int, rank: int) -> None:
    word = rank // WORD
    state.words[broker, word] ^= 1 << int(rank % WORD)
    if state.words[broker, word] == 0:
        state.sums[broker, word // WORD] ^= 1 << int(word % WORD)


@leaf
def next_at(state: State, broker: int, rank: int) -> int:
    """The first rank from `rank` on of a session that is at a broker and may move; -1
    if there is none."""
    word = rank // WORD
    if word >= state.words.shape[1]:
        return -1
    rest = _bits(state.words[broker, word]) >> (rank % WORD)
    if rest:
        return rank + _lowest(rest)
    word += 1
    block = word // WORD
    if block >= state.sums.shape[1]:
        return -1
    rest = _bits(state.sums[broker, block]) >> (word % WORD)
    if rest:
        word += _lowest(rest)
    else:
        block += 1
        while block < state.sums.shape[1] and state.sums[broker, block] == 0:
            block += 1
        if block == state.sums.shape[1]:
            return -1
        word = block * WORD + _lowest(_bits(state.sums[broker, block]))
    return word * WORD + _lowest(_bits(state.words[broker, word]))


@leaf
def last_at(state: State, broker: int, rank: int) -> int:
    """The last rank up to `rank` of a session that is at a broker and may move; -1 if
    there is none."""
    if rank < 0:
        return -1
    word = rank // WORD
    rest = _bits(state.words[broker, word]) & ((2 << int(rank % WORD)) - 1)
    while rest == 0:
        word -= 1
        if word < 0:
            return -1
        rest = _bits(state.words[broker, word])
    return word * WORD + _highest(rest)


@leaf
def _bits(word: int) -> int:
    """A word of 32 bits with none of them taken for a sign."""
    return word & 0xFFFFFFFF


@leaf
def _lowest(bits: int) -> int:
    found = 0
    for width in (16, 8, 4, 2, 1):
        if bits & ((1 << width) - 1) == 0:
            bits >>= width
            found += width
    return found


@leaf
def _highest(bits: int) -> int:
    found = 0
    for width in (16, 8, 4, 2, 1):
        if bits >> width:
            bits >>= width
            found += width
    return found
