"""A plan for what a workload has become, close to the plan that there is.

What is served stays as it was where that is enough and not much dearer than a new
choice (`kernels.keeping`); where it is served stays wherever capacities allow
(`repack`). Besides, everything is packed anew and the brokers are matched to the former
ones that serve the most pairs which were there before. Of these the cheapest is taken
that keeps within the moves that are allowed.

If nothing may move (`stay`), what was served and still is stays on its broker, and only
what is served anew is placed, on brokers that have room for it or on new ones. Of a
topic that is cut this way the pairs of a broker need not follow one another in order of
subscribers, so it takes more than runs to say where each is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.keeping import Tally
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.model.placement import Placement
from brokerwise.planners.provision.cover import cheapest_cover
from brokerwise.planners.provision.layout import NOWHERE, Former, Layout, Part
from brokerwise.planners.provision.packing.pieces import Packing
from brokerwise.planners.provision.repack import repacked

# Costs that differ by no more than this are equal: then fewer changes decide.
EQUAL = 0.001
# Packing anew moves about everything: not tried for fewer moves than this part.
WORTH_PACKING = 0.25

Pack = Callable[[], Packing | None]


def rematched(start: Layout, packing: Packing) -> tuple[Packing, list[int], int]:
    """The packing with its brokers in the order of the former ones that they are.

    `start` has everything where it was. Returns also the former number of each
    broker, -1 for those that are new, and how many pairs move at most. A broker can
    only be a former one of its type. The runs of cut topics are put in the order
    that they had. O(runs), and a sort of the pairs of brokers with pairs in common.
    """
    runs = packing.placement
    parts = _Parts(start)
    shared = _in_common(parts, runs, len(packing.broker_type), len(start.kind))
    former = _matched(shared, packing.broker_type, start)
    last = np.where(former < 0, np.iinfo(np.int32).max, former)
    order = np.lexsort((np.arange(len(former)), last))
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    placement = _in_former_order(parts, runs, number, former)
    origins = former[order]
    moves = parts.total - _staying(parts, placement, origins)
    return Packing(packing.broker_type[order], placement), origins.tolist(), moves


class _Parts:
    """What each topic had where, in order of subscribers."""

    def __init__(self, start: Layout) -> None:
        self._start = start
        listed = np.zeros(len(start.rates), np.bool_)
        listed[list(start.runs)] = True
        self.simple = ~listed & (start.home != NOWHERE)
        self.home, self.kept = start.home, start.kept
        self.total = int(start.kept[self.simple].sum()) + sum(
            part.kept for topic in start.runs for part in self.of(topic)
        )

    def of(self, topic: int) -> list[Part]:
        start = self._start
        if topic in start.runs:
            return [part for run in start.runs[topic] for part in run.parts]
        if start.home[topic] == NOWHERE:
            return []
        home, kept = int(start.home[topic]), int(start.kept[topic])
        return [Part(home, int(start.counts[topic]), kept)]


def _plain(parts: _Parts, runs: Placement) -> "np.typing.NDArray[np.bool_]":
    """Runs of topics that have one home before and now."""
    number = np.bincount(runs.topic, minlength=len(parts.simple))
    plain: np.typing.NDArray[np.bool_] = parts.simple[runs.topic] & (
        number[runs.topic] == 1
    )
    return plain


def _in_common(parts: _Parts, runs: Placement, brokers: int, former: int) -> Int64s:
    """Rows (pairs, broker, former broker) of those that have pairs in common; of
    topics that are cut it is a guess."""
    plain = _plain(parts, runs)
    topic = runs.topic[plain]
    keys = runs.broker[plain].astype(np.int64) * former + parts.home[topic]
    weights = [parts.kept[topic]]
    extra_keys, extra = [], []
    for t, b, n in _rows(runs, ~plain):
        for part in parts.of(t):
            extra_keys.append(b * former + part.origin)
            extra.append(min(n, part.kept))
    keys = np.concatenate([keys, np.array(extra_keys, np.int64)])
    weights.append(np.array(extra, np.int64))
    found, inverse = np.unique(keys, return_inverse=True)
    pairs = np.zeros(len(found), np.int64)
    np.add.at(pairs, inverse, np.concatenate(weights))
    return np.column_stack([pairs, found // max(1, former), found % max(1, former)])


def _matched(shared: Int64s, types: Int32s, start: Layout) -> Int32s:
    """The former broker of each: most pairs in common first, then any of its type."""
    former = np.full(len(types), -1, np.int32)
    free = start.kind >= 0
    for pairs, b, f in shared[np.argsort(-shared[:, 0], kind="stable")].tolist():
        if pairs and former[b] < 0 and free[f] and types[b] == start.kind[f]:
            former[b] = f
            free[f] = False
    for b in np.flatnonzero(former < 0).tolist():
        same = np.flatnonzero(free & (start.kind == types[b]))
        if len(same):
            former[b] = same[0]
            free[same[0]] = False
    return former


def _in_former_order(
    parts: _Parts, runs: Placement, number: Int32s, former: Int32s
) -> Placement:
    """The runs with brokers renumbered; those of a topic in the order that they had."""
    place = np.zeros(len(runs.topic), np.int64)
    cut = np.bincount(runs.topic, minlength=len(parts.simple))[runs.topic] > 1
    before: dict[int, dict[int, int]] = {}
    for i in np.flatnonzero(cut).tolist():
        t = int(runs.topic[i])
        if t not in before:
            before[t] = {part.origin: j for j, part in enumerate(parts.of(t))}
        place[i] = before[t].get(int(former[runs.broker[i]]), len(before[t]))
    order = np.lexsort((np.arange(len(place)), place, runs.topic))
    return Placement(runs.topic[order], number[runs.broker[order]], runs.pairs[order])


def _staying(parts: _Parts, runs: Placement, origins: Int32s) -> int:
    """Pairs that are where they were, at least."""
    plain = _plain(parts, runs)
    topic, broker = runs.topic[plain], runs.broker[plain]
    same = origins[broker] == parts.home[topic]
    total = int(parts.kept[topic[same]].sum())
    rows = _rows(runs, ~plain)
    at, position = 0, 0
    last = -1
    for t, b, n in rows:
        position = 0 if t != last else position
        last, at = t, 0
        for part in parts.of(t):
            common = min(position + n, at + part.pairs) - max(position, at)
            if common > 0 and origins[b] == part.origin:
                total += max(0, common - (part.pairs - part.kept))
            at += part.pairs
        position += n
    return total


def _rows(runs: Placement, some: "np.typing.NDArray[np.bool_]") -> list[list[int]]:
    rows: list[list[int]] = np.column_stack(
        [runs.topic[some], runs.broker[some], runs.pairs[some]]
    ).tolist()
    return rows


@dataclass(frozen=True, eq=False)
class ServedSelection:
    """A selection next to a former plan: what it serves, and how to pack it anew.

    `held` says that it was chosen with regard to what was served before.
    """

    tally: Tally
    pack: Pack
    held: bool

    @property
    def kept(self) -> int:
        """Pairs that were served before, too."""
        return int(self.tally.kept.sum())

    @property
    def pairs(self) -> int:
        return int(self.tally.counts.sum())


@dataclass(frozen=True, eq=False)
class Proposal:
    """A way to go on.

    `brokers_from` is the former number of each broker, -1 for new ones; `moves` is
    how many pairs are on another broker than before, at most; `changes` counts in
    addition those that are no longer served and those that are now.
    """

    served: ServedSelection
    packing: Packing
    brokers_from: Sequence[int]
    cost: float
    moves: int
    changes: int


def replan(
    former: Former,
    selections: Sequence[ServedSelection],
    rates: Int64s,
    fleet: Fleet,
    prices: Prices,
    most: int | None,
) -> tuple[Proposal | None, Proposal | None]:
    """The cheapest proposal with no more than `most` moves, and the calmest of all
    (None: the fleet's limits leave no proposal at all). Its moves are counted from
    above, so it may keep within the limit even if there is no other that does.

    Without a limit all selections are compared. With one, what is served is to stay
    too: the first selection from which there is a way within the limit is taken.
    Costs that are equal to a thousandth count as equal; then fewer changes decide.
    """
    offers: list[Proposal] = []
    found: list[Proposal] = []
    for served in selections:
        offers += _proposals(former, served, rates, fleet, prices, most)
        found = [o for o in offers if most is None or o.moves <= most]
        if found and most is not None:
            break
    if not offers and most is not None:  # what moves about everything is a way, too
        for served in selections:
            offers += _proposals(former, served, rates, fleet, prices, None)
    calmest = min(offers, key=lambda o: (o.moves, o.cost), default=None)
    if not found:
        return None, calmest
    limit = min(o.cost for o in found) * (1 + EQUAL)
    good = [o for o in found if o.cost <= limit]
    return min(good, key=lambda o: (o.changes, o.cost)), calmest


def _proposals(
    former: Former,
    served: ServedSelection,
    rates: Int64s,
    fleet: Fleet,
    prices: Prices,
    most: int | None,
) -> Iterator[Proposal]:
    tally = served.tally
    start = Layout.of(
        former, tally.counts, tally.size, tally.kept, rates, fleet, prices
    )
    churn = served.pairs + former.pairs - 2 * served.kept

    def proposal(packing: Packing, origins: Sequence[int], moves: int) -> Proposal:
        brokers = packing.brokers_of_types(len(fleet.broker_types))
        incoming, outgoing = packing.incoming(rates), packing.outgoing(rates)
        cost = prices.cost(brokers, incoming, outgoing).total
        return Proposal(served, packing, origins, cost, moves, moves + churn)

    for whole in (False, True):
        for layout in repacked(start, most, whole=whole):
            yield proposal(*layout.packing(), layout.moves)
    if most is None or most >= WORTH_PACKING * served.kept:
        packing = served.pack()
        if packing is not None:
            yield proposal(*rematched(start, packing))


@dataclass(frozen=True, eq=False)
class Standstill:
    """Where everything is if nothing moves.

    Attributes
    ----------
    packing
        The pairs of each topic on each broker, by topic and broker.
    brokers_from
        The former number of each broker, -1 for new ones.
    number
        What each former broker is called now, -1 if it is gone.
    added
        Runs of the pairs that are served anew: these alone, in order of subscribers,
        fill them.
    """

    packing: Packing
    brokers_from: Int32s
    number: Int32s
    added: Placement


def stay(
    former: Former, tally: Tally, rates: Int64s, fleet: Fleet, prices: Prices
) -> Standstill | None:
    """Keep all that was served where it was, and place what is new.

    None if that does not fit: a broker is too small for what it keeps, or may not
    stay, or the fleet's limits leave no room that was found for what is new. Topics
    with the largest rates come first, on brokers that have them already, then on the
    roomiest, then on new ones. O(brokers) for each topic with new pairs.
    """
    brokers = _Brokers(former, tally, rates, fleet, prices)
    if not brokers.fit:
        return None
    kept = np.bincount(former.topic, tally.kept, len(rates)).astype(np.int64)
    new = tally.counts - kept
    added = []
    for topic in np.flatnonzero(new).tolist():
        left = int(new[topic])
        for broker, pairs in brokers.place(topic, left):
            added.append((topic, broker, pairs))
            left -= pairs
        if left:
            return None
    return brokers.staying(np.array(added, np.int64).reshape(-1, 3))


class _Brokers:
    """Former brokers with what they keep, then new ones; `room` is what is free."""

    def __init__(
        self,
        former: Former,
        tally: Tally,
        rates: Int64s,
        fleet: Fleet,
        prices: Prices,
    ) -> None:
        self._rates, self._fleet, self._prices = rates, fleet, prices
        self._former = len(former.broker_type)
        stays = tally.kept > 0
        self._topic, self._broker = former.topic[stays], former.broker[stays]
        self._pairs = tally.kept[stays]
        self._capacity = np.array([kind.capacity for kind in fleet], np.int64)
        self.kind = former.broker_type.copy()
        self.used = np.zeros(self._former, np.bool_)
        self.used[self._broker] = True
        load = np.zeros(self._former, np.int64)
        np.add.at(load, self._broker, rates[self._topic] * (self._pairs + 1))
        size = np.where(self.kind >= 0, self._capacity[self.kind], 0)
        self.room = size - load

    @property
    def fit(self) -> bool:
        """Whether what is kept fits, and its brokers may stay."""
        limits = zip(self._fleet, self._number_of_kinds(), strict=True)
        return bool((self.room >= 0).all()) and all(
            kind.count is None or number <= kind.count for kind, number in limits
        )

    def place(self, topic: int, pairs: int) -> Iterator[tuple[int, int]]:
        """Brokers for new `pairs` of a topic, with how many go to each; fewer
        than that in all if there is no room for more."""
        rate = int(self._rates[topic])
        start, end = np.searchsorted(self._topic, [topic, topic + 1])
        has = self._broker[start:end]
        for broker in has[np.argsort(-self.room[has], kind="stable")].tolist():
            take = min(pairs, int(self.room[broker]) // rate)
            if take:
                self.room[broker] -= rate * take
                pairs -= take
                yield broker, take
        taken = set(has.tolist())
        while pairs:
            broker = self._roomiest(taken, rate, pairs)
            if broker is None:
                return
            taken.add(broker)
            take = min(pairs, int(self.room[broker]) // rate - 1)
            self.room[broker] -= rate * (take + 1)
            self.used[broker] = True
            pairs -= take
            yield broker, take

    def staying(self, added: Int64s) -> Standstill:
        """All of it, with brokers that carry something numbered from 0."""
        number = np.where(self.used, np.cumsum(self.used) - 1, -1).astype(np.int32)
        topic = np.concatenate([self._topic.astype(np.int64), added[:, 0]])
        broker = np.concatenate([number[self._broker], number[added[:, 1]]])
        key, at = np.unique(topic << 32 | broker, return_inverse=True)
        pairs = np.zeros(len(key), np.int64)
        np.add.at(pairs, at, np.concatenate([self._pairs, added[:, 2]]))
        runs = Placement(
            (key >> 32).astype(np.int32), (key & (2**32 - 1)).astype(np.int32), pairs
        )
        origin = np.flatnonzero(self.used).astype(np.int32)
        return Standstill(
            Packing(self.kind[self.used], runs),
            np.where(origin < self._former, origin, -1).astype(np.int32),
            number[: self._former],
            Placement(
                added[:, 0].astype(np.int32), number[added[:, 1]], added[:, 2].copy()
            ),
        )

    def _roomiest(self, taken: set[int], rate: int, pairs: int) -> int | None:
        """The broker with the most room that has none of the topic yet, of those in
        use; else a new one."""
        rooms = np.where(self.used, self.room, -1)
        rooms[list(taken)] = -1
        if len(rooms) and rooms.max() >= 2 * rate:
            return int(np.argmax(rooms))
        return self._open(rate * (pairs + 1), 2 * rate)

    def _open(self, load: int, need: int) -> int | None:
        """One broker of the cheapest for so much load, or of any that there is, that
        can carry `need`."""
        types, taken = self._fleet.broker_types, self._number_of_kinds()
        limits = [
            0 if t.capacity < need else None if t.count is None else t.count - n
            for t, n in zip(types, taken, strict=True)
        ]
        capacities = self._capacity.tolist()
        mix = cheapest_cover(load, capacities, self._prices.brokers, limits)
        if mix is None:
            mix = tuple(limit or 0 for limit in limits)
        kinds = [kind for kind, number in enumerate(mix) if number]
        if not kinds:
            return None
        kind = max(kinds, key=lambda kind: capacities[kind])
        idle = np.flatnonzero(~self.used & (self.kind == kind))
        if len(idle):
            self.room[idle[0]] = capacities[kind]
            return int(idle[0])
        self.kind = np.append(self.kind, np.int32(kind))
        self.room = np.append(self.room, np.int64(capacities[kind]))
        self.used = np.append(self.used, False)
        return len(self.kind) - 1

    def _number_of_kinds(self) -> list[int]:
        kinds = self.kind[self.used & (self.kind >= 0)]
        counts: list[int] = np.bincount(
            kinds, minlength=len(self._fleet.broker_types)
        ).tolist()
        return counts
