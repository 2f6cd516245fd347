"""Where everything is while a former plan is being changed: runs, rooms, moves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.planners.provision.packing.pieces import Packing, Pieces

NOWHERE = -1


class Part(NamedTuple):
    """Pairs that belong together since before: `kept` of them, at most, were on
    broker `origin`."""

    origin: int
    pairs: int
    kept: int

    def split(self, pairs: int) -> tuple["Part", "Part"]:
        """The first `pairs`, and the rest; either may have all that were kept."""
        rest = self.pairs - pairs
        return (
            Part(self.origin, pairs, min(pairs, self.kept)),
            Part(self.origin, rest, min(rest, self.kept)),
        )


@dataclass(eq=False)
class Run:
    """Pairs of one topic on one broker, made of parts in order of subscribers."""

    broker: int
    parts: list[Part]

    @property
    def pairs(self) -> int:
        return sum(part.pairs for part in self.parts)

    @property
    def moves(self) -> int:
        """Pairs that may be elsewhere than before."""
        return self.moves_to(self.broker)

    @property
    def kept(self) -> int:
        """Pairs that may be where they were before."""
        return sum(part.kept for part in self.parts if part.origin == self.broker)

    def moves_to(self, broker: int) -> int:
        return sum(part.kept for part in self.parts if part.origin != broker)

    def cut(self, pairs: int) -> tuple["Run", "Run"]:
        """The first `pairs`, and the rest, both on the broker of this run."""
        before: list[Part] = []
        after: list[Part] = []
        for part in self.parts:
            take = min(part.pairs, pairs)
            first, second = part.split(take)
            pairs -= take
            before += [first] if first.pairs else []
            after += [second] if second.pairs else []
        return Run(self.broker, before), Run(self.broker, after)


@dataclass(frozen=True, eq=False)
class Former:
    """A former plan in the words of the present workload.

    Attributes
    ----------
    topic, broker
        Its runs by topic as they are numbered now, in the order that they had;
        topics that are gone are left out. Brokers have their former numbers.
    broker_type
        The type of each of its brokers in the present fleet; -1 if it has none such.
    pairs
        All that it served.
    """

    topic: Int32s
    broker: Int32s
    broker_type: Int32s
    pairs: int

    def starts(self, topics: int) -> Int64s:
        """The first run of each topic; behind the last, the number of runs."""
        return np.searchsorted(self.topic, np.arange(topics + 1)).astype(np.int64)


@dataclass(eq=False)
class Layout:
    """Brokers and what is on them; capacities may be exceeded until they are relieved.

    A topic is either simple (all its pairs belong together; `home` is its broker or
    NOWHERE) or has its runs listed in `runs`. Brokers of the former plan keep their
    numbers, new ones come after them.
    """

    rates: Int64s
    counts: Int64s
    fleet: Fleet
    prices: Prices
    home: Int32s
    origin: Int32s
    kept: Int64s
    runs: dict[int, list[Run]]
    kind: Int32s
    room: Int64s
    is_open: Bools
    former: int

    @classmethod
    def of(
        cls,
        former: Former,
        counts: Int64s,
        size: Int64s,
        kept: Int64s,
        rates: Int64s,
        fleet: Fleet,
        prices: Prices,
    ) -> "Layout":
        """Everything where it was, with the sizes that it has now."""
        number = np.bincount(former.topic, minlength=len(rates))
        home = np.full(len(rates), NOWHERE, np.int32)
        alone = number[former.topic] == 1
        home[former.topic[alone]] = former.broker[alone]
        held = np.zeros(len(rates), np.int64)
        held[former.topic[alone]] = kept[alone]
        home[counts == 0] = NOWHERE
        capacity = np.array([t.capacity for t in fleet], np.int64)
        room = np.where(former.broker_type >= 0, capacity[former.broker_type], 0)
        layout = cls(
            rates,
            counts,
            fleet,
            prices,
            home,
            home.copy(),
            held,
            _listed(former, size, kept, number > 1),
            former.broker_type.copy(),
            room,
            former.broker_type >= 0,
            len(former.broker_type),
        )
        layout.room -= layout.loads()
        return layout

    @property
    def incoming(self) -> int:
        """What brokers receive."""
        once = int(self.rates[self.home != NOWHERE].sum())
        rates = self.rates
        return once + sum(int(rates[t]) * len(runs) for t, runs in self.runs.items())

    @property
    def moves(self) -> int:
        """Pairs that are elsewhere than before, at most."""
        simple = int(self.kept[self.home != self.origin].sum())
        return simple + sum(r.moves for runs in self.runs.values() for r in runs)

    @property
    def used(self) -> Bools:
        """Which brokers carry something."""
        used = np.zeros(len(self.kind) + 1, np.bool_)
        used[self.home] = True  # NOWHERE is the place behind the last
        for runs in self.runs.values():
            for run in runs:
                used[run.broker] = True
        return used[:-1]

    def cost(self) -> float:
        """In dollars, of what is used."""
        brokers = np.bincount(
            self.kind[self.used], minlength=len(self.prices.brokers)
        ).tolist()
        outgoing = int(self.rates @ self.counts)
        return self.prices.cost(brokers, self.incoming, outgoing).total

    def loads(self) -> Int64s:
        loads = np.zeros(len(self.kind), np.int64)
        simple = np.flatnonzero(self.home != NOWHERE)
        load = self.rates[simple] * (self.counts[simple] + 1)
        np.add.at(loads, self.home[simple], load)
        for topic, runs in self.runs.items():
            for run in runs:
                if run.broker != NOWHERE:
                    loads[run.broker] += int(self.rates[topic]) * (run.pairs + 1)
        return loads

    def simple_on(self, broker: int) -> Int64s:
        """Simple topics on a broker, by descending rate."""
        return np.flatnonzero(self.home == broker)

    def listed_on(self, broker: int) -> list[tuple[int, Run]]:
        """Runs of other topics on a broker."""
        return [
            (topic, run)
            for topic, runs in self.runs.items()
            for run in runs
            if run.broker == broker
        ]

    def homeless(self) -> Int64s:
        """Simple topics that are selected but have no broker."""
        lost = (self.home == NOWHERE) & (self.counts > 0)
        lost[list(self.runs)] = False
        return np.flatnonzero(lost)

    def pieces(self) -> Iterator[tuple[int, Run]]:
        """Runs of listed topics that have no broker, one at a time as they are."""
        for topic in sorted(self.runs):
            while True:
                run = next((r for r in self.runs[topic] if r.broker == NOWHERE), None)
                if run is None:
                    break
                yield topic, run

    def list_topic(self, topic: int) -> Run:
        """Make a simple topic a listed one; its only run."""
        part = Part(
            int(self.origin[topic]), int(self.counts[topic]), int(self.kept[topic])
        )
        run = Run(int(self.home[topic]), [part])
        self.home[topic] = self.origin[topic] = NOWHERE
        self.kept[topic] = 0
        self.runs[topic] = [run]
        return run

    def put_simple(self, topic: int, broker: int) -> None:
        """Take a simple topic to a broker, or from all of them (NOWHERE)."""
        load = int(self.rates[topic]) * (int(self.counts[topic]) + 1)
        self._load(int(self.home[topic]), -load)
        self._load(broker, load)
        self.home[topic] = broker

    def put(self, topic: int, run: Run, broker: int) -> None:
        """Take a run to a broker that has none of the topic, or from all of them."""
        load = int(self.rates[topic]) * (run.pairs + 1)
        self._load(run.broker, -load)
        self._load(broker, load)
        run.broker = broker

    def cut(self, topic: int, run: Run, pairs: int) -> tuple[Run, Run]:
        """Cut a run that has no broker."""
        runs = self.runs[topic]
        at = runs.index(run)
        runs[at : at + 1] = both = run.cut(pairs)
        return both

    def release(self, topic: int, run: Run, pairs: int, *, tail: bool) -> None:
        """Take `pairs`, the last or the first of a run, from its broker."""
        runs = self.runs[topic]
        at = runs.index(run)
        first, second = run.cut(run.pairs - pairs if tail else pairs)
        (second if tail else first).broker = NOWHERE
        runs[at : at + 1] = first, second
        self._load(run.broker, -int(self.rates[topic]) * pairs)

    def join(self, topic: int, run: Run, neighbour: Run) -> None:
        """Let a run next to another one become part of it, on its broker."""
        runs = self.runs[topic]
        at, to = runs.index(run), runs.index(neighbour)
        rate = int(self.rates[topic])
        self._load(run.broker, -rate * (run.pairs + 1))
        self._load(neighbour.broker, rate * run.pairs)
        parts = (neighbour, run) if to < at else (run, neighbour)
        neighbour.parts = parts[0].parts + parts[1].parts
        del runs[at]

    def neighbours(self, topic: int, run: Run) -> list[Run]:
        """The runs before and after it that have a broker."""
        runs = self.runs[topic]
        at = runs.index(run)
        beside = runs[max(0, at - 1) : at] + runs[at + 1 : at + 2]
        return [r for r in beside if r.broker != NOWHERE]

    def open(self, kind: int) -> int:
        """A broker of this type that carries nothing: a former one, else a new one."""
        capacity = self.fleet.broker_types[kind].capacity
        same = (self.kind[: self.former] == kind) & ~self.is_open[: self.former]
        if same.any():
            broker = int(np.argmax(same))
            self.room[broker] = capacity
            self.is_open[broker] = True
            return broker
        self.kind = np.append(self.kind, np.int32(kind))
        self.room = np.append(self.room, np.int64(capacity))
        self.is_open = np.append(self.is_open, True)
        return len(self.kind) - 1

    def close(self, broker: int) -> None:
        """No longer use a broker that carries nothing."""
        self.room[broker] = 0
        self.is_open[broker] = False

    def close_idle(self) -> None:
        for broker in np.flatnonzero(self.is_open & ~self.used).tolist():
            self.close(broker)

    def open_of_kinds(self) -> list[int]:
        types = len(self.fleet.broker_types)
        counts: list[int] = np.bincount(
            self.kind[self.is_open], minlength=types
        ).tolist()
        return counts

    def copy(self) -> "Layout":
        """An independent copy."""
        runs = {
            topic: [Run(r.broker, list(r.parts)) for r in listed]
            for topic, listed in self.runs.items()
        }
        return replace(
            self,
            home=self.home.copy(),
            origin=self.origin.copy(),
            kept=self.kept.copy(),
            runs=runs,
            kind=self.kind.copy(),
            room=self.room.copy(),
            is_open=self.is_open.copy(),
        )

    def packing(self) -> tuple[Packing, list[int]]:
        """The packing, its brokers without gaps, and the former number of each: -1
        for those that are new."""
        used = self.used
        number = np.append(np.cumsum(used, dtype=np.int32) - 1, np.int32(NOWHERE))
        rows = [
            (topic, number[run.broker], run.pairs)
            for topic in sorted(self.runs)
            for run in self.runs[topic]
        ]
        cuts = np.array(rows, np.int64).reshape(-1, 3)
        pieces = Pieces(self.kind[used], number[self.home], cuts)
        brokers = np.flatnonzero(used)
        origin = np.where(brokers < self.former, brokers, -1).tolist()
        return pieces.packing(self.counts), origin

    def _load(self, broker: int, load: int) -> None:
        if broker != NOWHERE:
            self.room[broker] -= load


def _listed(
    former: Former, size: Int64s, kept: Int64s, listed: Bools
) -> dict[int, list[Run]]:
    """The runs of topics that were cut, those that have nothing left out."""
    runs: dict[int, list[Run]] = {}
    rows = np.flatnonzero(listed[former.topic] & (size > 0))
    topics, brokers = former.topic[rows].tolist(), former.broker[rows].tolist()
    sizes, keeps = size[rows].tolist(), kept[rows].tolist()
    for t, b, n, k in zip(topics, brokers, sizes, keeps, strict=True):
        runs.setdefault(t, []).append(Run(b, [Part(b, n, k)]))
    return runs
