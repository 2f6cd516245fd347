"""A world from what users do, one thing after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from brokerwise.runtime.balancing.placement import Point
from brokerwise.runtime.simulation.world import Rates, Visits, Wishes, World

_NOWHERE = (0.0, 0.0)
_Span = tuple[int, float, float]


@dataclass
class Timeline:
    """Who logs in, subscribes, unsubscribes and logs out, told in order of time.

    Users and topics are numbered as they are first heard of. What is done again (a
    login of who is there, a subscription that is had) changes nothing, and so does
    giving up what is not had: a scenario may say such things.
    """

    users: dict[str, int] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    _points: list[Point] = field(default_factory=list)
    _online: dict[int, float] = field(default_factory=dict)
    _wanted: dict[tuple[int, int], float] = field(default_factory=dict)
    _visits: list[_Span] = field(default_factory=list)
    _wishes: list[tuple[int, int, float, float]] = field(default_factory=list)

    def login(self, at: float, user: str, point: Point = _NOWHERE) -> None:
        """`point` is where the user is, which matters at its first login."""
        if user not in self.users:
            self.users[user] = len(self.users)
            self._points.append(point)
        self._online.setdefault(self.users[user], at)

    def logout(self, at: float, user: str) -> None:
        number = self.users.get(user, -1)
        if number in self._online:
            self._visits.append((number, self._online.pop(number), at))

    def subscribe(self, at: float, user: str, topic: str) -> None:
        """Also counts for a user who is not online, once it is."""
        if user not in self.users:
            self.users[user] = len(self.users)
            self._points.append(_NOWHERE)
        number = self.topics.setdefault(topic, len(self.topics))
        self._wanted.setdefault((self.users[user], number), at)

    def unsubscribe(self, at: float, user: str, topic: str) -> None:
        key = self.users.get(user, -1), self.topics.get(topic, -1)
        if key in self._wanted:
            self._wishes.append((*key, self._wanted.pop(key), at))

    def world(
        self,
        name: str,
        seconds: float,
        broker_points: Sequence[Point],
        rates: Rates,
        period_seconds: int = 1,
    ) -> World:
        """What was told so far; `rates` are in the order of `topics`."""
        visits = [*self._visits, *((u, at, inf) for u, at in self._online.items())]
        wishes = [*self._wishes, *((*k, at, inf) for k, at in self._wanted.items())]
        return World(
            name,
            seconds,
            np.array(broker_points, np.float64).reshape(-1, 2),
            np.array(self._points, np.float64).reshape(-1, 2),
            len(self.topics),
            Visits(
                np.array([v[0] for v in visits], np.int32),
                np.array([v[1] for v in visits], np.float64),
                np.array([v[2] for v in visits], np.float64),
            ),
            Wishes(
                np.array([w[0] for w in wishes], np.int32),
                np.array([w[1] for w in wishes], np.int32),
                np.array([w[2] for w in wishes], np.float64),
                np.array([w[3] for w in wishes], np.float64),
            ),
            rates,
            period_seconds,
        )
