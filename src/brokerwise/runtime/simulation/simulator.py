"""A fleet in a world, with the balancer that a running fleet has. No clock."""

from collections import deque
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Snapshot
from brokerwise.planners.balance.bound import lower_bound
from brokerwise.planners.balance.solve import solve as solve_balance
from brokerwise.runtime.balancing.balancer import Balancer, Solve
from brokerwise.runtime.balancing.events import Measured, MoveEnded
from brokerwise.runtime.simulation.placing import Placing
from brokerwise.runtime.simulation.result import Move, Simulated
from brokerwise.runtime.simulation.settings import Simulation
from brokerwise.runtime.simulation.world import World

_DENSE_CELLS = 2**26  # topics times brokers, up to which loads are added up in a table


def simulate(
    world: World, settings: Simulation, solve: Solve = solve_balance
) -> Simulated:
    """Run a world from its beginning to its end; `solve` is what the balancer asks.

    The same world and settings give the same result. Takes O(wishes + topics times
    brokers) a report, and what the planner takes where there is something to plan.

    Raises InputError if it would end before the first report.
    """
    if settings.report_seconds > world.seconds:
        raise InputError(
            f"report_seconds: found {settings.report_seconds:g}, expected at most the "
            f"{world.seconds:g} seconds that it runs"
        )
    run = _Run(world, settings, solve)
    for step in range(int(world.seconds / settings.report_seconds + 1e-9) + 1):
        run.step(step * settings.report_seconds)
    return run.result()


@dataclass(frozen=True, eq=False)
class _Moment:
    """The fleet at a time: who is online, and the snapshot of their sessions."""

    time: float
    online: Int32s
    snapshot: Snapshot


class _Run:
    def __init__(self, world: World, settings: Simulation, solve: Solve) -> None:
        self._world, self._settings = world, settings
        self._placing = Placing(world, settings.placement, settings.seed)
        self._balancer = Balancer(settings.balancing, solve)
        self._noise = np.random.default_rng([settings.seed, 3])
        self._late: deque[_Moment] = deque()
        self._under_way: list[Move] = []
        self._moves: list[Move] = []
        self._times: list[float] = []
        self._loads: list[Int64s] = []
        self._sessions: list[Int64s] = []

    def step(self, time: float) -> None:
        """Let happen what is due, look at the fleet, and tell the balancer."""
        self._end_moves(time)
        online = self._world.visits.at(time)
        self._placing.place(online)
        moment = self._moment(time, online)
        self._note(moment)
        self._last = moment
        if self._settings.balancing.options.policy == "none":
            return  # nothing comes of reports
        self._late.append(moment)
        if len(self._late) > self._settings.delay:
            self._report(self._late.popleft(), time)

    def result(self) -> Simulated:
        snapshot = self._last.snapshot
        return Simulated(
            world=self._world.name,
            policy=self._settings.balancing.options.policy,
            placement=self._settings.placement,
            period_seconds=self._world.period_seconds,
            times=np.array(self._times),
            loads=np.array(self._loads),
            sessions=np.array(self._sessions),
            moves=tuple(self._moves),
            decisions=self._balancer.decisions,
            end=snapshot,
            bound=lower_bound(snapshot, snapshot.brokers),
            mind=self._balancer.mind if self._balancer.decisions else "",
        )

    def _moment(self, time: float, online: Int32s) -> _Moment:
        world, places = self._world, self._placing.places
        number = np.full(world.users, -1, np.int64)
        number[online] = np.arange(len(online))
        wishes = world.wishes
        holds: Bools = wishes.at(time) & (number[wishes.user] >= 0)
        counts = np.bincount(number[wishes.user[holds]], minlength=len(online))
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        snapshot = Snapshot.of(
            world.brokers,
            world.rates(time),
            Interests(offsets, wishes.topic[holds]),
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
        told = Measured.at(moment.time, snapshot, moment.online.tolist())
        for command in self._balancer.handle(replace(told, heard=now)):
            self._under_way += [
                Move(now, *cast(tuple[int, int, int], move))
                for move in command.decision.moves
            ]

    def _end_moves(self, now: float) -> None:
        """Moves end together; who has logged out meanwhile does not move."""
        if not self._under_way:
            return
        ended = self._under_way[0].at + self._settings.move_seconds
        if ended > now:
            return
        online = set(self._world.visits.at(ended).tolist())
        for move in self._under_way:
            there = move.user in online
            if there:
                self._placing.places[move.user] = move.target
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
