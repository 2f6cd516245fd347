"""What happens to a simulated fleet: who is there, who wants what, what topics bring.

A world is all that does not depend on how the fleet is balanced, so that policies can
be compared on the same one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s, read_only
from brokerwise.model.errors import InputError

Rates = Callable[[float], Int64s]
"""What each topic brings at a time, in bytes per period of the world."""


@dataclass(frozen=True, eq=False)
class Visits:
    """User `user[i]` is online from `begin[i]` on, until before `end[i]`."""

    user: Int32s
    begin: Float64s
    end: Float64s

    def at(self, time: float) -> Int32s:
        """Who is online, each once."""
        return np.unique(self.user[(self.begin <= time) & (time < self.end)])


@dataclass(frozen=True, eq=False)
class Wishes:
    """User `user[i]` wants `topic[i]` from `begin[i]` on, until before `end[i]`, while
    online. In order of user and topic; a wish does not begin before the same one of
    the same user has ended."""

    user: Int32s
    topic: Int32s
    begin: Float64s
    end: Float64s

    def __post_init__(self) -> None:
        order = np.lexsort((self.begin, self.topic, self.user))
        for field in ("user", "topic", "begin", "end"):
            object.__setattr__(self, field, read_only(getattr(self, field)[order]))
        same = (self.user[1:] == self.user[:-1]) & (self.topic[1:] == self.topic[:-1])
        overlap = same & (self.begin[1:] < self.end[:-1])
        if overlap.any():
            wrong = int(np.argmax(overlap))
            raise InputError(
                f"wishes: found topic {self.topic[wrong]} twice at once for user "
                f"{self.user[wrong]}, at {self.begin[wrong + 1]:g} s"
            )

    def at(self, time: float) -> Bools:
        """Which of the wishes hold."""
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
    wishes: Wishes
    rates: Rates
    period_seconds: int = 1

    def __post_init__(self) -> None:
        for field in ("broker_points", "user_points"):
            points = np.asarray(getattr(self, field), np.float64)
            if points.ndim != 2 or points.shape[1] != 2:
                raise InputError(f"{field}: found {points.shape}, expected x and y")
            object.__setattr__(self, field, read_only(points))
        if not self.brokers:
            raise InputError("broker_points: found none, expected 1 or more")
        if not 0 < self.seconds < float("inf"):
            raise InputError(f"seconds: found {self.seconds!r}, expected more than 0")
        for field, found, limit in (
            ("user of visits", self.visits.user, self.users),
            ("user of wishes", self.wishes.user, self.users),
            ("topic of wishes", self.wishes.topic, self.topics),
        ):
            if len(found) and not 0 <= found.min() <= found.max() < limit:
                raise InputError(
                    f"{field}: found {found.min():,} to {found.max():,}, expected 0 "
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
