"""The loads of the fleet: what brokers report, and what is stored about their sessions.

Needs no planner: what it imports is loaded when the coordinator starts.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp

import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.errors import BrokerwiseError
from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Snapshot
from brokerwise.runtime.balancing.events import Key, LoadReported
from brokerwise.runtime.coordinator.balance.options import PERIOD_SECONDS
from brokerwise.runtime.coordinator.brokers import Broker, all_brokers
from brokerwise.runtime.coordinator.moves import last_move, unfinished_moves
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.net.errors import ConflictError, UnavailableError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import BalancePage, BrokerState

AVERAGE_SECONDS = 60.0  # as the averages of brokers
_FORGOTTEN = 0.001  # weight of what is as good as unknown
Row = tuple[str, str, int]  # broker, user, bytes of state


@dataclass(frozen=True)
class StoredFleet:
    """What the coordinator knows by itself, at one moment.

    Attributes
    ----------
    brokers
        Those that are up, by name.
    sessions
        By user and broker: the session there, by its first topic (empty without a
        plan); None if there are two of them, which only part by themselves.
    returning
        Users who have a session that is about to go home.
    moving
        Sessions with a move that is not over.
    names
        Of all brokers that there are or were.
    """

    brokers: tuple[Broker, ...]
    sessions: Mapping[tuple[str, str], str | None]
    returning: frozenset[str]
    moving: frozenset[Key]
    moves_before: int
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FleetLoads:
    """A report for the balancer, the user of each of its sessions, and the stored
    fleet that it was made with."""

    report: LoadReported
    users: tuple[str, ...]
    stored: StoredFleet


async def ask_brokers(
    telling: BrokerClient, brokers: Sequence[Broker]
) -> list[BalancePage]:
    """What they carry, all asked at once. Raises UnavailableError if one does not
    answer: half a fleet cannot be balanced."""
    asked = [telling.balance(broker.address) for broker in brokers]
    found = await asyncio.gather(*asked, return_exceptions=True)
    pages = []
    for broker, page in zip(brokers, found, strict=True):
        if isinstance(page, BrokerwiseError):
            raise UnavailableError(
                f"broker {broker.name!r} does not say what it carries: {page.message}"
            )
        if isinstance(page, BaseException):
            raise page
        pages.append(page)
    return pages


def refuse_differing(brokers: Sequence[Broker]) -> None:
    found = sorted({broker.capacity or 0 for broker in brokers})
    if len(found) > 1:
        raise ConflictError(
            f"the brokers differ in capacity ({found[0]:,} and {found[-1]:,}): only a "
            "fleet of equal ones can be balanced"
        )


def read_stored_fleet(sql: Sql) -> StoredFleet:
    brokers = all_brokers(sql)
    up = {b.name for b in brokers if b.state is BrokerState.UP}
    sessions: dict[tuple[str, str], str | None] = {}
    returning = set()
    for user, home, broker, first in sql.execute(
        "SELECT user, home, broker, coalesce(topics ->> 0, '') FROM sessions"
    ):
        sessions[user, broker] = None if (user, broker) in sessions else first
        if home != broker and home in up:
            returning.add(user)
    return StoredFleet(
        tuple(b for b in brokers if b.name in up),
        sessions,
        frozenset(returning),
        frozenset((move.user, move.session) for move in unfinished_moves(sql)),
        last_move(sql),
        tuple(b.name for b in brokers),
    )


def fleet_loads(
    stored: StoredFleet,
    pages: Sequence[BalancePage],
    rates: Mapping[str, float],
    measured: float,
    heard: float,
) -> FleetLoads:
    """The brokers that are up, and the sessions on them. `rates` are bytes a second.

    Raises UnavailableError if a broker has restarted, or come, since it was asked.
    """
    _refuse_restarted(stored, pages)
    names = tuple(broker.name for broker in stored.brokers)
    snapshot, rows = _snapshot(names, pages, rates)
    keys, held = _keys_and_held(stored, rows)
    report = LoadReported(
        *(heard, measured, snapshot, keys),
        open=np.ones(len(names), np.bool_),
        closing=np.zeros(len(names), np.bool_),
        brokers=names,
        held=held,
    )
    return FleetLoads(report, tuple(user for _, user, _ in rows), stored)


def _refuse_restarted(stored: StoredFleet, pages: Sequence[BalancePage]) -> None:
    epochs = {page.broker: page.epoch for page in pages}
    for broker in stored.brokers:
        if epochs.get(broker.name) != broker.epoch:
            raise UnavailableError(f"broker {broker.name!r} has just come: ask again")


def _snapshot(
    names: Sequence[str], pages: Sequence[BalancePage], rates: Mapping[str, float]
) -> tuple[Snapshot, list[Row]]:
    """Of some brokers; and for each session its broker, its user and its state."""
    numbers = {name: number for number, name in enumerate(names)}
    pages = [page for page in pages if page.broker in numbers]
    topics = {name: number for number, name in enumerate(sorted(rates))}
    bytes_a_second = np.array([rates[name] for name in topics], np.float64)
    wanted, order = _wanted(pages, topics)
    found = [(page.broker, user, n) for page in pages for user, _, n in page.sessions]
    rows = [found[place] for place in order]
    snapshot = Snapshot(
        brokers=len(names),
        rates=np.rint(bytes_a_second * PERIOD_SECONDS).astype(np.int64),
        wanted=wanted,
        places=np.array([numbers[broker] for broker, _, _ in rows], np.int32),
        users=_numbered([user for _, user, _ in rows]),
        state_bytes=np.array([size for _, _, size in rows], np.int64),
        period_seconds=PERIOD_SECONDS,
    )
    return snapshot, rows


def _wanted(
    pages: Sequence[BalancePage], topics: Mapping[str, int]
) -> tuple[Interests, list[int]]:
    """The topics of each session, sessions by user, then broker; and the place of
    each in the pages, one after the other."""
    names = [(user, page.broker) for page in pages for user, _, _ in page.sessions]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    lists: list[Int64s] = []
    counts: list[int] = []
    for page in pages:
        numbers = np.array([topics[name] for name, _, _ in page.topics], np.int64)
        places = chain.from_iterable(wanted for _, wanted, _ in page.sessions)
        lists.append(numbers[np.fromiter(places, np.int64)])
        counts += [len(wanted) for _, wanted, _ in page.sessions]
    pairs = np.concatenate([*lists, np.zeros(0, np.int64)])
    owners = np.repeat(rank, counts)
    by_owner = np.lexsort((pairs, owners))
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=len(names)), out=offsets[1:])
    return Interests(offsets, pairs[by_owner].astype(np.int32)), order


def _keys_and_held(stored: StoredFleet, rows: Sequence[Row]) -> tuple[list[Key], Bools]:
    """The key of each session, wherever it goes, and whether it must stay: a session
    that is moving, or is not where it was placed, cannot be moved now."""
    keys: list[Key] = []
    held = np.zeros(len(rows), np.bool_)
    for place, (broker, user, _) in enumerate(rows):
        session = stored.sessions.get((user, broker))
        key: Key = (user, broker, "?") if session is None else (user, session)
        held[place] = (
            session is None or user in stored.returning or key in stored.moving
        )
        keys.append(key)
    return keys, held


def _numbered(users: Sequence[str]) -> Int32s:
    numbers = {user: number for number, user in enumerate(dict.fromkeys(users))}
    return np.array([numbers[user] for user in users], np.int32)


# What topics bring, from what brokers measure, who may only just have begun


@dataclass(frozen=True)
class _Remembered:
    rate: float
    weight: float
    at: float

    def weight_at(self, now: float) -> float:
        return self.weight * exp(-max(0.0, now - self.at) / AVERAGE_SECONDS)


class Rates:
    """Bytes a second of each topic.

    When the last session of a topic leaves a broker, the next one has only begun to
    measure. So the last good value counts too, less the older it is and the better the
    new one: that which the broker before has kept, or, as it may be gone by then, the
    one that was seen here last. How often it is asked does not change what it says.
    """

    def __init__(self) -> None:
        self._remembered: dict[str, _Remembered] = {}

    def learn(self, pages: Sequence[BalancePage], now: float) -> Mapping[str, float]:
        """Of all topics of the pages: the mean of what brokers measured, by weight."""
        for page in pages:
            for topic, rate, weight in page.left:
                self._keep(topic, _Remembered(rate, weight, now))
        found = {}
        for topic, (rate, weight) in _measured(pages).items():
            found[topic] = self._learn(topic, rate, weight, now)
        self._remembered = {
            topic: known
            for topic, known in self._remembered.items()
            if topic in found or known.weight_at(now) > _FORGOTTEN
        }
        return found

    def _learn(self, topic: str, rate: float, weight: float, now: float) -> float:
        self._keep(topic, _Remembered(rate, weight, now))
        known = self._remembered[topic]
        old = min(known.weight_at(now), 1.0 - weight)
        if not weight + old:
            return rate
        return (rate * weight + known.rate * old) / (weight + old)

    def _keep(self, topic: str, new: _Remembered) -> None:
        known = self._remembered.get(topic)
        if known is None or new.weight >= known.weight_at(new.at):
            self._remembered[topic] = new


def _measured(pages: Sequence[BalancePage]) -> dict[str, tuple[float, float]]:
    """The mean of each topic over its brokers, and the weight of the best of them:
    all measure the same stream."""
    sums: dict[str, tuple[float, float, float]] = {}
    for page in pages:
        for topic, rate, weight in page.topics:
            total, weights, best = sums.get(topic, (0.0, 0.0, 0.0))
            sums[topic] = total + rate * weight, weights + weight, max(best, weight)
    return {t: (s / (w or 1.0), best) for t, (s, w, best) in sums.items()}
