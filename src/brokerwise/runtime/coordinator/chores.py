"""What the coordinator does by itself: it looks after leases, moves and drains.

What there is to do is in the stored state, so a coordinator that starts again goes
on where the last one was killed.
"""

import asyncio
import logging
from collections.abc import Callable

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator import drains, moves
from brokerwise.runtime.coordinator.balance.service import BalanceService
from brokerwise.runtime.coordinator.brokers import Broker, the_broker
from brokerwise.runtime.coordinator.herald import Herald
from brokerwise.runtime.coordinator.membership import Then
from brokerwise.runtime.coordinator.moving import UNFINISHED
from brokerwise.runtime.coordinator.seats import topics_of
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.coordinator.telling import Telling
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.protocol.control import MoveAnswer, MoveOrder

MOVES_AT_ONCE = 32
TICK_SECONDS = 0.25
PAUSE_SECONDS = 0.02  # between two rounds, however much happens
RETRY_SECONDS = 0.25

_log = logging.getLogger(__name__)


class Chores:
    """Runs until cancelled; any error in it is one of ours, and ends it.

    `sweep` looks for lapsed leases; `wall` gives seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        telling: Telling,
        herald: Herald,
        balancing: BalanceService,
        *,
        sweep: Callable[[], None],
        wall: Callable[[], float],
    ) -> None:
        self._store = store
        self._telling = telling
        self._herald = herald
        self._balancing = balancing
        self._sweep = sweep
        self._wall = wall
        self._woken = asyncio.Event()
        self._moving: dict[int, asyncio.Task[None]] = {}
        self._stopping: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._telling_routes: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """There may be something to do."""
        self._woken.set()

    async def run(self) -> None:
        """Cancelling it stops all work; the next coordinator takes it up."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._woken.clear()
                self._round(group)
                await asyncio.sleep(PAUSE_SECONDS)
                try:
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._woken.wait()
                except TimeoutError:
                    continue

    def _round(self, group: asyncio.TaskGroup) -> None:
        self._sweep()
        with self._store.change() as sql:
            drains.advance(sql, self._wall())
            self._balancing.advance(sql, self._wall())
        if self._telling_routes is None or self._telling_routes.done():
            self._telling_routes = group.create_task(self._herald.catch_up())
        self._start_moves(group)
        for broker in drains.to_stop(self._store.sql):
            key = (broker.name, broker.epoch)
            if key not in self._stopping:
                self._stopping[key] = group.create_task(self._stop(broker))

    def _start_moves(self, group: asyncio.TaskGroup) -> None:
        paused = self._balancing.mode.paused
        for move in moves.unfinished_moves(
            self._store.sql, 2 * MOVES_AT_ONCE, but_waiting=paused
        ):
            if len(self._moving) >= MOVES_AT_ONCE:
                return
            if move.id not in self._moving:
                task = group.create_task(self._move(move.id))
                self._moving[move.id] = task

    async def _move(self, number: int) -> None:
        """Order one step after the other, until the move is over.

        A broker that cannot be reached is asked again: it comes back, or is found to
        be lost, which ends the move.
        """
        try:
            while (move := self._unfinished(number)) is not None:
                answer = await self._order(move)
                if answer is None:
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                with self._store.change() as sql:
                    moves.take_answer(sql, move, answer.answer, answer.reason)
        finally:
            del self._moving[number]
            self.wake()

    def _unfinished(self, number: int) -> moves.Move | None:
        move = moves.find_move(self._store.sql, number)
        return move if move is not None and move.state in UNFINISHED else None

    async def _order(self, move: moves.Move) -> MoveAnswer | None:
        sql = self._store.sql
        source, target = the_broker(sql, move.source), the_broker(sql, move.target)
        topics = None if move.home is None else topics_of(sql, move.user, move.home)
        order = MoveOrder(move.id, move.step, move.user, target.address, topics)
        try:
            return await self._telling.move(source.address, order)
        except RefusedError as refused:
            return MoveAnswer("refused", str(refused))
        except BrokerwiseError as cause:
            _log.warning("move %d: %s", move.id, cause)
            return None

    async def _stop(self, broker: Broker) -> None:
        """The broker must know first who carries its topics now."""
        await self._herald.catch_up()
        try:
            await self._telling.stop(
                broker.address, restart=broker.then is Then.RESTART
            )
        except BrokerwiseError as cause:
            _log.warning("cannot stop broker %s: %s", broker.name, cause)
            await asyncio.sleep(RETRY_SECONDS)
            del self._stopping[broker.name, broker.epoch]
