"""What happens to a simulated fleet: logins, subscriptions, and rates of topics.

A world is all that does not depend on how the fleet is balanced, so that policies can
be compared on the same one. `Timeline` makes a world from a sequence of what users do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s, read_only
from brokerwise.model.errors import InputError
from brokerwise.runtime.balancing.placement import Point

Rates = Callable[[float], Int64s]
"""What each topic brings at a time, in bytes per period of the world."""


@dataclass(frozen=True, eq=False)
class Visits:
    """User `user[i]` is online from `begin[i]` on, until before `end[i]`."""

    user: Int32s
    begin: Float64s
    end: Float64s

    def at(self, time: float) -> Int32s:
        """The users online, each once."""
        return np.unique(self.user[(self.begin <= time) & (time < self.end)])


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """User `user[i]` wants `topic[i]` from `begin[i]` on, until before `end[i]`, while
    online. In order of user and topic; one does not begin before the same one of
    the same user has ended."""

    user: Int32s
    topic: Int32s
    begin: Float64s
    end: Float64s

    def __post_init__(self) -> None:
        order = np.lexsort((self.begin, self.topic, self.user))
        for name in ("user", "topic", "begin", "end"):
            object.__setattr__(self, name, read_only(getattr(self, name)[order]))
        same = (self.user[1:] == self.user[:-1]) & (self.topic[1:] == self.topic[:-1])
        overlap = same & (self.begin[1:] < self.end[:-1])
        if overlap.any():
            wrong = int(np.argmax(overlap))
            raise InputError(
                f"subscriptions: found topic {self.topic[wrong]} twice at once for "
                f"user {self.user[wrong]}, at {self.begin[wrong + 1]:g} s"
            )

    def at(self, time: float) -> Bools:
        """Which of them hold at a time."""
        found: Bools = (self.begin <= time) & (time < self.end)
        return found


@dataclass(frozen=True, eq=False)
class World:
    """A fleet's surroundings over `seconds`, from time 0.

    Attributes
    ----------
    broker_points, user_points
        Where brokers are, and users when they first come: an x and a y each.
    rates
        Of each of `topics` topics, in bytes per `period_seconds`.
    """

    name: str
    seconds: float
    broker_points: Float64s
    user_points: Float64s
    topics: int
    visits: Visits
    subscriptions: Subscriptions
    rates: Rates
    period_seconds: int = 1

    def __post_init__(self) -> None:
        for name in ("broker_points", "user_points"):
            points = np.asarray(getattr(self, name), np.float64)
            if points.ndim != 2 or points.shape[1] != 2:
                raise InputError(f"{name}: found {points.shape}, expected x and y")
            object.__setattr__(self, name, read_only(points))
        if not self.brokers:
            raise InputError("broker_points: found none, expected 1 or more")
        if not 0 < self.seconds < float("inf"):
            raise InputError(f"seconds: found {self.seconds!r}, expected more than 0")
        for name, found, limit in (
            ("user of visits", self.visits.user, self.users),
            ("user of subscriptions", self.subscriptions.user, self.users),
            ("topic of subscriptions", self.subscriptions.topic, self.topics),
        ):
            if len(found) and not 0 <= found.min() <= found.max() < limit:
                raise InputError(
                    f"{name}: found {found.min():,} to {found.max():,}, expected 0 "
                    f"to {limit - 1:,}"
                )

    @property
    def brokers(self) -> int:
        return len(self.broker_points)

    @property
    def users(self) -> int:
        return len(self.user_points)


@dataclass(frozen=True, eq=False)
class SteppedRates:
    """Rates that change at `times`, ascending: `values[i]` from times[i] on. Nothing
    comes before the first."""

    times: Float64s
    values: Int64s

    def __call__(self, time: float) -> Int64s:
        row = int(np.searchsorted(self.times, time, side="right")) - 1
        if row < 0:
            return np.zeros(self.values.shape[1], np.int64)
        found: Int64s = self.values[row]
        return found


_NOWHERE = (0.0, 0.0)
_Span = tuple[int, float, float]


@dataclass
class Timeline:
    """Logins, subscriptions, unsubscriptions and logouts, added in order of time.

    Users and topics are numbered as they first appear. A second login, a second
    subscription to the same topic, and an unsubscription without a subscription
    change nothing: a scenario may contain them.
    """

    users: dict[str, int] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    _points: list[Point] = field(default_factory=list)
    _online: dict[int, float] = field(default_factory=dict)
    _wanted: dict[tuple[int, int], float] = field(default_factory=dict)
    _visits: list[_Span] = field(default_factory=list)
    _subscriptions: list[tuple[int, int, float, float]] = field(default_factory=list)

    def login(self, at: float, user: str, point: Point = _NOWHERE) -> None:
        """`point` is where the user is, which matters at its first login."""
        self._online.setdefault(self._number(user, point), at)

    def logout(self, at: float, user: str) -> None:
        number = self.users.get(user, -1)
        if number in self._online:
            self._visits.append((number, self._online.pop(number), at))

    def subscribe(self, at: float, user: str, topic: str) -> None:
        """For a user who is offline it holds from the next login on."""
        number = self.topics.setdefault(topic, len(self.topics))
        self._wanted.setdefault((self._number(user, _NOWHERE), number), at)

    def unsubscribe(self, at: float, user: str, topic: str) -> None:
        key = self.users.get(user, -1), self.topics.get(topic, -1)
        if key in self._wanted:
            self._subscriptions.append((*key, self._wanted.pop(key), at))

    def _number(self, user: str, point: Point) -> int:
        if user not in self.users:
            self.users[user] = len(self.users)
            self._points.append(point)
        return self.users[user]

    def world(
        self,
        name: str,
        seconds: float,
        broker_points: Sequence[Point],
        rates: Rates,
        period_seconds: int = 1,
    ) -> World:
        """The world as added so far; `rates` are in the order of `topics`."""
        visits = [*self._visits, *((u, at, inf) for u, at in self._online.items())]
        subscriptions = [
            *self._subscriptions,
            *((*k, at, inf) for k, at in self._wanted.items()),
        ]
        return World(
            name,
            seconds,
            np.array(broker_points, np.float64).reshape(-1, 2),
            np.array(self._points, np.float64).reshape(-1, 2),
            len(self.topics),
            Visits(*_columns(visits, np.int32, np.float64, np.float64)),
            Subscriptions(
                *_columns(subscriptions, np.int32, np.int32, np.float64, np.float64)
            ),
            rates,
            period_seconds,
        )


def _columns(rows: Sequence[tuple[float, ...]], *types: type) -> list[Any]:
    """An array of each column of some rows, which may be none."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    return [np.array(c, t) for c, t in zip(columns, types, strict=True)]
