"""Where users of a simulated fleet go when they first log in."""

from collections.abc import Iterator

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s
from brokerwise.runtime.balancing.placement import POLICIES, Candidate
from brokerwise.runtime.simulation.world import World

_TURNS = 10**9  # between the turns of two seeds: more than any run has users
_AT_ONCE = 2**22  # distances
_ROUNDING = 1e-9  # of a distance: who is so near may be nearest
_TINY = 1e-300  # a distance that is none


class Placing:
    """The broker of each user: -1 before its first login, and kept while it is away,
    as a coordinator keeps seats."""

    def __init__(self, world: World, policy: str, seed: int) -> None:
        width = len(str(world.brokers))  # so that names have the order of numbers
        names = [f"b{number:0{width}}" for number in range(world.brokers)]
        points = [(x, y) for x, y in world.broker_points.tolist()]
        self._candidates = [
            Candidate(name, point) for name, point in zip(names, points, strict=True)
        ]
        self._numbers = {name: number for number, name in enumerate(names)}
        self._choose = POLICIES[policy]
        self._world, self._near = world, policy == "nearest"
        self._turn = seed * _TURNS
        self.places = np.full(world.users, -1, np.int32)

    def place(self, users: Int32s) -> None:
        """Give a broker to those of the users who have none, in their order."""
        new = users[self.places[users] < 0]
        points = self._world.user_points[new]
        for user, point, candidates in zip(
            new.tolist(), points.tolist(), self._eligible(points), strict=True
        ):
            name = self._choose(candidates, (point[0], point[1]), self._turn)
            self.places[user] = self._numbers[name]
            self._turn += 1

    def _eligible(self, points: Float64s) -> Iterator[list[Candidate]]:
        """For each point the brokers to choose from: all, or where the nearest is
        asked for those that may be it, so that many brokers do not take long."""
        if not self._near:
            yield from (self._candidates for _ in points)
            return
        brokers = self._world.broker_points
        rows = max(1, _AT_ONCE // len(brokers))
        for start in range(0, len(points), rows):
            away = points[start : start + rows, None, :] - brokers
            distances = np.hypot(away[..., 0], away[..., 1])
            limits = distances.min(axis=1) * (1 + _ROUNDING) + _TINY
            for row, limit in zip(distances, limits, strict=True):
                yield [self._candidates[i] for i in np.flatnonzero(row <= limit)]
