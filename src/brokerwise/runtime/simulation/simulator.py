"""A simulated fleet: its options, where users are placed, and a run in a world.

The balancer is the one that a running fleet has. No clock.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import cast

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Snapshot
from brokerwise.model.units import checked_count
from brokerwise.planners.balance.problem import lower_bound
from brokerwise.planners.control import check_name
from brokerwise.runtime.balancing.balancer import Balancer, BalancerSettings
from brokerwise.runtime.balancing.events import LoadReported, MoveEnded
from brokerwise.runtime.balancing.placement import POLICIES, Candidate
from brokerwise.runtime.simulation.result import SimulatedMove, SimulationResult
from brokerwise.runtime.simulation.world import World


@dataclass(frozen=True)
class SimulationOptions:
    """What the same world can be run with.

    Attributes
    ----------
    placement
        Where users go when they first log in; they come back to where they were.
    balancing
        Its thresholds on the mean load are in bytes per period of the world.
    report_seconds
        Between two reports; loads are noted as often.
    delay
        How many reports late the balancer hears of one.
    noise
        Measured rates are off by a normal error of this standard deviation.
    move_seconds
        After which the moves of a decision have happened.
    """

    placement: str = "nearest"
    balancing: BalancerSettings = field(default_factory=BalancerSettings)
    report_seconds: float = 10.0
    delay: int = 0
    noise: float = 0.0
    move_seconds: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_name("placement", self.placement, tuple(sorted(POLICIES)))
        if not (isfinite(self.report_seconds) and self.report_seconds > 0):
            raise InputError(
                f"report_seconds: found {self.report_seconds!r}, expected more than 0"
            )
        for name in ("noise", "move_seconds"):
            found = getattr(self, name)
            if not (isfinite(found) and found >= 0):
                raise InputError(f"{name}: found {found!r}, expected 0 or more")
        checked_count(self.delay, "delay")
        checked_count(self.seed, "seed")


_DENSE_CELLS = 2**26  # topics times brokers, up to which loads are added up in a table


def simulate(world: World, settings: SimulationOptions) -> SimulationResult:
    """Run a world from its beginning to its end.

    The same world and settings give the same result. A report takes O(subscriptions +
    topics times brokers), and what the planner takes where there is something to plan.

    Raises InputError if it would end before the first report.
    """
    if settings.report_seconds > world.seconds:
        raise InputError(
            f"report_seconds: found {settings.report_seconds:g}, expected at most the "
            f"{world.seconds:g} seconds that it runs"
        )
    run = _Run(world, settings)
    for step in range(int(world.seconds / settings.report_seconds + 1e-9) + 1):
        run.step(step * settings.report_seconds)
    return run.result()


@dataclass(frozen=True, eq=False)
class _Moment:
    """The fleet at a time: the users online, and the snapshot of their sessions."""

    time: float
    online: Int32s
    snapshot: Snapshot


class _Run:
    def __init__(self, world: World, settings: SimulationOptions) -> None:
        self._world, self._settings = world, settings
        self._placement = InitialPlacement(world, settings.placement, settings.seed)
        self._balancer = Balancer(settings.balancing)
        self._noise = np.random.default_rng([settings.seed, 3])
        self._late: deque[_Moment] = deque()
        self._under_way: list[SimulatedMove] = []
        self._moves: list[SimulatedMove] = []
        self._times: list[float] = []
        self._loads: list[Int64s] = []
        self._sessions: list[Int64s] = []

    def step(self, time: float) -> None:
        """End the moves that are due, take a snapshot, and report to the balancer."""
        self._end_moves(time)
        online = self._world.visits.at(time)
        self._placement.place(online)
        moment = self._moment(time, online)
        self._note(moment)
        self._last = moment
        if self._settings.balancing.options.policy == "none":
            return  # it ignores reports
        self._late.append(moment)
        if len(self._late) > self._settings.delay:
            self._report(self._late.popleft(), time)

    def result(self) -> SimulationResult:
        snapshot = self._last.snapshot
        return SimulationResult(
            world=self._world.name,
            policy=self._settings.balancing.options.policy,
            placement=self._settings.placement,
            period_seconds=self._world.period_seconds,
            times=np.array(self._times),
            loads=np.array(self._loads),
            sessions=np.array(self._sessions),
            moves=tuple(self._moves),
            decisions=self._balancer.verdicts,
            end=snapshot,
            bound=lower_bound(snapshot, snapshot.brokers),
            status=self._balancer.status if self._balancer.verdicts else "",
        )

    def _moment(self, time: float, online: Int32s) -> _Moment:
        world, places = self._world, self._placement.places
        number = np.full(world.users, -1, np.int64)
        number[online] = np.arange(len(online))
        wanted = world.subscriptions
        holds: Bools = wanted.at(time) & (number[wanted.user] >= 0)
        counts = np.bincount(number[wanted.user[holds]], minlength=len(online))
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        snapshot = Snapshot.of(
            world.brokers,
            world.rates(time),
            Interests(offsets, wanted.topic[holds]),
            places[online],
            world.period_seconds,
        )
        return _Moment(time, online, snapshot)

    def _note(self, moment: _Moment) -> None:
        snapshot = moment.snapshot
        self._times.append(moment.time)
        self._loads.append(loads_of(snapshot))
        self._sessions.append(np.bincount(snapshot.places, minlength=snapshot.brokers))

    def _report(self, moment: _Moment, now: float) -> None:
        snapshot = moment.snapshot
        if self._settings.noise:
            error = self._noise.normal(1, self._settings.noise, len(snapshot.rates))
            rates = np.rint(snapshot.rates * np.maximum(error, 0)).astype(np.int64)
            snapshot = replace(snapshot, rates=rates)
        report = LoadReported.at(moment.time, snapshot, moment.online.tolist())
        for command in self._balancer.handle(replace(report, heard=now)):
            self._under_way += [
                SimulatedMove(now, *cast(tuple[int, int, int], move))
                for move in command.verdict.moves
            ]

    def _end_moves(self, now: float) -> None:
        """Moves end together; a user that has logged out meanwhile does not move."""
        if not self._under_way:
            return
        ended = self._under_way[0].at + self._settings.move_seconds
        if ended > now:
            return
        online = set(self._world.visits.at(ended).tolist())
        for move in self._under_way:
            there = move.user in online
            if there:
                self._placement.places[move.user] = move.target
                self._moves.append(move)
            target = move.target if there else None
            self._balancer.handle(MoveEnded(ended, move.user, target))
        self._under_way = []


def loads_of(snapshot: Snapshot) -> Int64s:
    """As `Snapshot.loads`, quicker where topics times brokers are not too many."""
    topics = len(snapshot.rates)
    if topics * snapshot.brokers > _DENSE_CELLS:
        return snapshot.loads()
    owners = np.repeat(
        snapshot.places.astype(np.int64), np.diff(snapshot.wanted.offsets)
    )
    pairs = np.bincount(
        owners * topics + snapshot.wanted.topics, minlength=topics * snapshot.brokers
    ).reshape(snapshot.brokers, topics)
    found: Int64s = (pairs + (pairs > 0)) @ snapshot.rates
    return found


_TURNS = 10**9  # between the turns of two seeds: more than any run has users
_AT_ONCE = 2**22  # distances
_ROUNDING = 1e-9  # of a distance: a broker this near may be the nearest
_TINY = 1e-300  # a distance that is none


class InitialPlacement:
    """The broker of each user: -1 before its first login, and kept while it is away,
    as the coordinator of a running fleet does."""

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
        """Give a broker to each of the users that has none, in their order."""
        new = users[self.places[users] < 0]
        points = self._world.user_points[new]
        for user, point, candidates in zip(
            new.tolist(), points.tolist(), self._eligible(points), strict=True
        ):
            name = self._choose(candidates, (point[0], point[1]), self._turn)
            self.places[user] = self._numbers[name]
            self._turn += 1

    def _eligible(self, points: Float64s) -> Iterator[list[Candidate]]:
        """The brokers to choose from for each point: all of them, or with the policy
        `nearest` only those that may be nearest, which is faster with many brokers."""
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
