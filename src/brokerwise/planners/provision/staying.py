"""Nothing moves: what was served and still is stays on its broker, and only what is
served anew is placed, on brokers that have room for it or on new ones.

Of a topic that is cut this way the pairs of a broker need not follow one another in
order of subscribers, so it takes more than runs to say where each is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.keeping import Tally
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.cost import Prices
from brokerwise.model.fleet import Fleet
from brokerwise.model.placement import Placement
from brokerwise.planners.provision.cover import cheapest_cover
from brokerwise.planners.provision.layout import Former
from brokerwise.planners.provision.packing.pack import Packing


@dataclass(frozen=True, eq=False)
class Staying:
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
) -> Staying | None:
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
        """Brokers for so many new pairs of a topic, with how many go to each; fewer
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

    def staying(self, added: Int64s) -> Staying:
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
        return Staying(
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
