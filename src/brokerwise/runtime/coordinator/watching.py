"""Those who watch the fleet: they come and go, and are told every second."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from brokerwise.runtime.coordinator import watch_lines as lines
from brokerwise.runtime.coordinator.balancing import Balancing
from brokerwise.runtime.coordinator.brokers import the_broker
from brokerwise.runtime.coordinator.mailbox import Mailbox
from brokerwise.runtime.coordinator.moves import Move
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.status import Reports
from brokerwise.runtime.coordinator.watch import Watch
from brokerwise.runtime.coordinator.watch_asking import Asking
from brokerwise.runtime.coordinator.watch_broker import ask_broker
from brokerwise.runtime.coordinator.watch_data import DataSource
from brokerwise.runtime.coordinator.watch_events import Sight
from brokerwise.runtime.coordinator.watch_moves import MovesSeen
from brokerwise.runtime.coordinator.watch_sight import (
    read_balance,
    read_fleet,
    read_last_move,
    read_sight,
)
from brokerwise.runtime.net.refusals import UnavailableError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.control import Heartbeat

MAX_WATCHERS = 50


class Watching:
    """A line is encoded once for all watchers. `clock` gives seconds that never go
    back, `wall` seconds since 1970; `reports` are the last of each broker that is
    there.

    Attributes
    ----------
    watch
        What is remembered, also while nobody watches.
    boxes
        Of all who watch.
    """

    def __init__(
        self,
        sql: Sql,
        reports: Reports,
        telling: BrokerClient,
        balancing: Balancing,
        *,
        data: DataSource | None,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._sql, self._reports = sql, reports
        self._telling, self._balancing = telling, balancing
        self._clock, self._wall = clock, wall
        self._started = wall()
        self._fleet = read_fleet(sql)
        self.watch = Watch(self._started, read_last_move(sql))
        self._moves = MovesSeen(sql)
        self._asking = Asking(sql, telling, data, self.tell, wall)
        self.boxes: set[Mailbox] = set()
        self._latest: dict[str, bytes] = {}
        self._is_over = False

    async def run(self) -> None:
        """Look once a second until cancelled, which loses nothing."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._look(group)
                await asyncio.sleep(lines.EVERY_SECONDS)

    def hear(self, report: Heartbeat) -> None:
        self.watch.hear(report, self._clock())

    def end_moves(self, moves: Sequence[Move]) -> None:
        """These are over."""
        self.watch.end_moves(moves, self._wall())
        self._moves.end(moves)

    def refuse_more(self) -> None:
        """Raises UnavailableError if nobody else may watch now."""
        if self._is_over:
            raise UnavailableError("the coordinator ends")
        if len(self.boxes) >= MAX_WATCHERS:
            raise UnavailableError(f"{MAX_WATCHERS} are watching already")

    @contextmanager
    def telling(self, box: Mailbox) -> Iterator[None]:
        """Somebody watches, until the context is left."""
        sight = read_sight(self._sql)
        if not self.boxes:
            self._begin(sight)
        self._greet(box, sight)
        self.boxes.add(box)
        try:
            yield
        finally:
            self.boxes.discard(box)

    async def broker(self, name: str) -> dict[str, Any]:
        """One broker, with what it says of itself. Raises NotFoundError if there is
        none of that name."""
        broker = the_broker(self._sql, name)
        report, period = self._reports.get(name), self._fleet["period_seconds"]
        return {
            **lines.broker_row(broker, report, period),
            "url": broker.url,
            "pid": broker.pid,
            "epoch": broker.epoch,
            **await ask_broker(self._telling, broker, self._asking.targets),
        }

    def end(self) -> None:
        """Let everybody go: the coordinator ends."""
        self._is_over = True
        for box in self.boxes:
            box.close()

    def _begin(self, sight: Sight) -> None:
        """Nobody has watched until now: what was to be told last is old."""
        self._asking.begin(self._clock())
        self._moves.look()
        self._latest = {"tick": self._tick(sight)}

    def _greet(self, box: Mailbox, sight: Sight) -> None:
        history = self.watch.history()
        brokers, started = len(sight.brokers), self._started
        box.begin(lines.hello(self._fleet, brokers, started, history))
        for happening in self.watch.events:
            box.begin(lines.event(happening))
        for kind, line in self._latest.items():
            box.put(kind, line)

    def _look(self, group: asyncio.TaskGroup) -> None:
        sight = read_sight(self._sql)
        new = self.watch.look(sight, self._reports, self._wall())
        if not self.boxes:
            return
        for happening in new:
            event = lines.event(happening)
            for box in self.boxes:
                box.put_event(event)
        self.tell("tick", self._tick(sight))
        there = {name: b for name, b in sight.brokers.items() if b.alive}
        self._asking.second(group, there, self._clock())

    def tell(self, kind: str, line: bytes) -> None:
        self._latest[kind] = line
        for box in self.boxes:
            box.put(kind, line)

    def _tick(self, sight: Sight) -> bytes:
        watch = self.watch
        return lines.tick(
            watch.at,
            sight.brokers.values(),
            self._reports,
            self._fleet["period_seconds"],
            rate=watch.rate,
            shared=watch.shared,
            p90_ms=self._asking.board.worst_p90(),
            balance=read_balance(self._sql, self._balancing),
            moved=self._moves.look(),
            last_move=watch.last_move,
        )
