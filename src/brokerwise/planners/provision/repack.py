"""Change a packing no more than needed: relieve what is too full, house what has no
place, then save money while moves are left."""

from collections.abc import Iterator

import numpy as np

from brokerwise.kernels.packing_tight import ROOMIEST, filled
from brokerwise.model.arrays import Int32s, Int64s, read_only
from brokerwise.planners.provision.cover import cheapest_cover
from brokerwise.planners.provision.layout import NOWHERE, Layout, Run

# Brokers that could not be emptied, one after the other, before it is given up.
PATIENCE = 8
# Rounds of emptying brokers and joining what is cut.
ROUNDS = 3


def repacked(start: Layout, most: int | None, *, whole: bool) -> Iterator[Layout]:
    """Layouts within all capacities, each cheaper than the one before it.

    The first makes only the changes that must be; then brokers are emptied and cut
    topics joined, with up to `most` moves in all. Nothing comes if the fleet's
    limits leave no room. A full broker is relieved by whole topics, or by as few
    pairs as can be.
    """
    layout = start.copy()
    _evict(layout)
    for broker in np.flatnonzero(layout.room < 0).tolist():
        _relieve(layout, broker, whole=whole)
    layout.close_idle()
    if not _settle(layout, may_open=True):
        return
    layout.close_idle()
    yield layout
    for _ in range(ROUNDS):
        emptied = _emptied(layout, most)
        if emptied is not layout:
            yield emptied
        joined = _joined(emptied, most)
        if joined is not emptied:
            yield joined
        if joined is emptied:
            break
        layout = joined


def _evict(layout: Layout) -> None:
    """Take everything from brokers that may not stay, and topics from brokers that
    are too small for them."""
    for broker in _dismissed(layout):
        _clear(layout, broker)
    capacity = np.array([t.capacity for t in layout.fleet], np.int64)[layout.kind]
    housed = np.flatnonzero(layout.home != NOWHERE)
    small = 2 * layout.rates[housed] > capacity[layout.home[housed]]
    for topic in housed[small].tolist():
        layout.put_simple(topic, NOWHERE)
    for topic, runs in layout.runs.items():
        for run in runs:
            at = run.broker
            if at != NOWHERE and 2 * layout.rates[topic] > capacity[at]:
                layout.put(topic, run, NOWHERE)


def _dismissed(layout: Layout) -> list[int]:
    """Brokers of types that are gone, and those beyond the limit of their type: the
    ones that serve the fewest pairs."""
    gone: list[int] = np.flatnonzero(layout.kind < 0).tolist()
    pairs = np.zeros(len(layout.kind), np.int64)
    housed = layout.home != NOWHERE
    np.add.at(pairs, layout.home[housed], layout.kept[housed])
    for runs in layout.runs.values():
        for run in runs:
            pairs[run.broker] += run.kept
    for kind, broker_type in enumerate(layout.fleet):
        if broker_type.count is not None:
            same = np.flatnonzero(layout.kind == kind)
            order = same[np.argsort(-pairs[same], kind="stable")]
            gone += order[broker_type.count :].tolist()
    return gone


def _clear(layout: Layout, broker: int) -> None:
    """Take everything from a broker and close it."""
    for topic in layout.simple_on(broker).tolist():
        layout.put_simple(topic, NOWHERE)
    for topic, run in layout.listed_on(broker):
        layout.put(topic, run, NOWHERE)
    layout.close(broker)


def _relieve(layout: Layout, broker: int, *, whole: bool) -> None:
    """Take topics, or pairs, from a broker until it is within its capacity."""
    simple = layout.simple_on(broker)
    listed = layout.listed_on(broker)
    topic = np.concatenate([simple, [t for t, _ in listed]]).astype(np.int64)
    pairs = np.concatenate([layout.counts[simple], [r.pairs for _, r in listed]])
    kept = np.concatenate([layout.kept[simple], [r.kept for _, r in listed]])
    rate = layout.rates[topic]
    excess = -int(layout.room[broker])
    if whole:
        leaving, cut = _whole_topics(rate * (pairs + 1), kept, excess), 0
    else:
        leaving, cut = _fewest_pairs(rate, pairs, kept, excess)
    for place, i in enumerate(leaving.tolist()):
        share = cut if place == len(leaving) - 1 else 0
        if i < len(simple) and not share:
            layout.put_simple(int(topic[i]), NOWHERE)
            continue
        t = int(topic[i])
        run = layout.list_topic(t) if i < len(simple) else listed[i - len(simple)][1]
        if share:
            layout.release(t, run, share, tail=_tail_is_better(layout, t, run))
        else:
            layout.put(t, run, NOWHERE)


def _fewest_pairs(
    rate: Int64s, pairs: Int64s, kept: Int64s, excess: int
) -> tuple[Int64s, int]:
    """What leaves so that few pairs move: runs, and of the last one how many pairs
    (0: all of them). What has no pair from before leaves first, then the largest
    rates."""
    order = np.lexsort((-rate, kept > 0))
    freed = np.cumsum((rate * (pairs + 1))[order])
    last = int(np.searchsorted(freed, excess))
    before = int(freed[last - 1]) if last else 0
    i = int(order[last])
    needed = -(-(excess - before) // int(rate[i]))
    cut = needed if needed < min(int(pairs[i]), int(kept[i])) else 0
    return order[: last + 1], cut


def _whole_topics(load: Int64s, kept: Int64s, excess: int) -> Int64s:
    """Whole runs that leave: those with the most load for each pair that moves, and
    last the one with the fewest pairs that is enough."""
    order = np.lexsort((-load, kept / load))
    freed = np.cumsum(load[order])
    last = int(np.searchsorted(freed, excess))
    rest = excess - (int(freed[last - 1]) if last else 0)
    enough = order[last:][load[order[last:]] >= rest]
    final = enough[np.lexsort((load[enough], kept[enough]))[0]]
    return np.append(order[:last], final)


def _tail_is_better(layout: Layout, topic: int, run: Run) -> bool:
    """Whether to cut the end off rather than the beginning: what is cut off may join
    its neighbour, if that has room."""
    runs = layout.runs[topic]
    at = runs.index(run)

    def room(i: int) -> int:
        if not 0 <= i < len(runs) or runs[i].broker == NOWHERE:
            return -1
        return int(layout.room[runs[i].broker])

    return room(at + 1) >= room(at - 1)


def _settle(layout: Layout, *, may_open: bool) -> bool:
    """House all that has no broker; False if that cannot be done."""
    for topic, run in layout.pieces():
        if not _house(layout, topic, run, may_open):
            return False
    lost = layout.homeless()
    rates, counts = read_only(layout.rates[lost]), layout.counts[lost]
    order = np.arange(len(lost), dtype=np.int32)
    while len(lost):
        rooms = np.where(layout.is_open, layout.room, -1)
        unplaced, first, _, home, cuts = filled(order, rates, counts, rooms, ROOMIEST)
        if not unplaced:
            _apply(layout, lost, home, cuts)
            break
        if not may_open or not _open_for(layout, unplaced, 2 * int(rates[first])):
            return False
    return True


def _apply(layout: Layout, lost: Int64s, home: Int32s, cuts: Int64s) -> None:
    """Put simple topics where a kernel has found room for them."""
    housed = np.flatnonzero(home >= 0)
    topics, brokers = lost[housed], home[housed]
    load = layout.rates[topics] * (layout.counts[topics] + 1)
    np.subtract.at(layout.room, brokers, load)
    layout.home[topics] = brokers
    for item, broker, pairs in cuts.tolist():
        topic = int(lost[item])
        run = layout.runs[topic][-1] if topic in layout.runs else None
        run = layout.list_topic(topic) if run is None else run
        if pairs < run.pairs:
            run, _ = layout.cut(topic, run, pairs)
        layout.put(topic, run, broker)


def _house(layout: Layout, topic: int, run: Run, may_open: bool) -> bool:
    """Find room for a run, or for its first pairs; False if there is none."""
    rate, pairs = int(layout.rates[topic]), run.pairs
    for other in layout.neighbours(topic, run):
        if layout.room[other.broker] >= rate * pairs:
            layout.join(topic, run, other)
            return True
    rooms = np.where(layout.is_open, layout.room, -1)
    rooms[[r.broker for r in layout.runs[topic] if r.broker != NOWHERE]] = -1
    if len(rooms) and rooms.max() >= 2 * rate:
        broker = int(np.argmax(rooms))
        put = min(pairs, int(rooms[broker]) // rate - 1)
        if put < pairs:
            run, _ = layout.cut(topic, run, put)
        layout.put(topic, run, broker)
        return True
    return may_open and _open_for(layout, rate * (pairs + 1), 2 * rate)


def _open_for(layout: Layout, load: int, need: int) -> bool:
    """Open the cheapest brokers for so much load that can carry what needs `need`."""
    types = layout.fleet.broker_types
    capacities = [t.capacity for t in types]
    taken = layout.open_of_kinds()
    limits = [
        0 if t.capacity < need else None if t.count is None else t.count - n
        for t, n in zip(types, taken, strict=True)
    ]
    mix = cheapest_cover(load, capacities, layout.prices.brokers, limits)
    if mix is None:
        mix = tuple(limit or 0 for limit in limits)
    for kind, number in enumerate(mix):
        for _ in range(number):
            layout.open(kind)
    return any(mix)


def _emptied(layout: Layout, most: int | None) -> Layout:
    """Without the brokers that others can take over from, if that is cheaper."""
    failures = 0
    tried: set[int] = set()
    while failures < PATIENCE:
        broker = _next_to_empty(layout, most, tried)
        if broker is None:
            break
        trial = layout.copy()
        _clear(trial, broker)
        if (
            _settle(trial, may_open=False)
            and (most is None or trial.moves <= most)
            and trial.cost() < layout.cost()
        ):
            layout, failures = trial, 0
        else:
            failures += 1
        tried.add(broker)
    return layout


def _next_to_empty(layout: Layout, most: int | None, tried: set[int]) -> int | None:
    """The broker with the fewest pairs to move for its rent, of those whose load
    others have room for."""
    capacity = np.array([t.capacity for t in layout.fleet], np.int64)[layout.kind]
    free = int(layout.room[layout.is_open].sum())
    load = np.where(layout.is_open, capacity - layout.room, 0)
    stays = layout.home != NOWHERE
    stays &= layout.home == layout.origin
    pairs = np.zeros(len(layout.kind), np.int64)
    np.add.at(pairs, layout.home[stays], layout.kept[stays])
    for runs in layout.runs.values():
        for run in runs:
            pairs[run.broker] += run.kept
    left = None if most is None else most - layout.moves
    usd = np.array(layout.prices.brokers)[layout.kind]
    fits = layout.is_open & (load <= free - layout.room) & (usd > 0)
    fits[list(tried)] = False
    if left is not None:
        fits &= pairs <= left
    if not fits.any():
        return None
    worth = np.where(fits, (pairs + 1) / np.where(fits, usd, 1.0), np.inf)
    return int(np.argmin(worth))


def _joined(layout: Layout, most: int | None) -> Layout:
    """With cut topics joined where there is room and it saves money."""
    if layout.prices.incoming == 0:
        return layout
    joined = layout.copy()
    moves = joined.moves
    changed = False
    offers = [
        (topic, run, other)
        for topic, runs in joined.runs.items()
        for run in runs
        for other in joined.neighbours(topic, run)
    ]
    offers.sort(key=lambda o: (_added_moves(o[1], o[2]) / joined.rates[o[0]], o[0]))
    for topic, run, other in offers:
        if run not in joined.runs[topic] or other not in joined.neighbours(topic, run):
            continue
        added = _added_moves(run, other)
        room = int(joined.room[other.broker])
        if room < int(joined.rates[topic]) * run.pairs:
            continue
        if most is not None and moves + added > most:
            continue
        joined.join(topic, run, other)
        moves += added
        changed = True
    return joined if changed else layout


def _added_moves(run: Run, other: Run) -> int:
    return run.moves_to(other.broker) - run.moves
