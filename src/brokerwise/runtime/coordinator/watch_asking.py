"""Asking brokers and the data cluster, for those who watch and only while they do."""

import asyncio
from collections.abc import Callable, Mapping

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator import watch_lines as lines
from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.watch_data import DataSource, ask_data
from brokerwise.runtime.coordinator.watch_sight import count_topics, read_targets
from brokerwise.runtime.coordinator.watch_topics import TopicBoard
from brokerwise.runtime.coordinator.watch_turns import Turns
from brokerwise.runtime.process.state_file import Sql

TOPICS_SECONDS = 10.0  # each broker is asked so often, and the topics are told
ASKED_AT_ONCE = 10  # brokers, each second: more of them have their turn later
DATA_SECONDS = 5.0

Tell = Callable[[str, bytes], None]


class Asking:
    """`tell` is given the lines, each with its kind; `wall` gives seconds since 1970.

    An answer that does not come is not waited for: what was known is forgotten.
    """

    def __init__(
        self,
        sql: Sql,
        telling: BrokerClient,
        data: DataSource | None,
        tell: Tell,
        wall: Callable[[], float],
    ) -> None:
        self._sql, self._telling, self._data = sql, telling, data
        self._tell, self._wall = tell, wall
        self.targets = read_targets(sql)
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """Somebody watches after nobody did: what was heard before is old."""
        self.board = TopicBoard()
        self._turns = Turns(TOPICS_SECONDS, ASKED_AT_ONCE)
        self._loads: set[asyncio.Task[None]] = set()
        self._topics_at, self._is_first = now, True
        self._data_at = now - DATA_SECONDS
        self._data_task: asyncio.Task[None] | None = None

    def second(
        self, group: asyncio.TaskGroup, brokers: Mapping[str, Broker], now: float
    ) -> None:
        """Ask whoever has the turn, of brokers that are there, and tell what is due.
        `now` is in seconds of a clock that does not go back."""
        self.board.keep(brokers)
        for name in self._turns.next(brokers, now):
            task = group.create_task(self._ask_load(self.board, brokers[name]))
            self._loads.add(task)
            task.add_done_callback(self._loads.discard)
        if self._is_topics_due(now):
            self._topics_at, self._is_first = now, False
            self._tell_topics()
        if self._data is not None and self._is_data_due(now):
            self._data_at = now
            self._data_task = group.create_task(self._ask_data(self._data))

    def _is_topics_due(self, now: float) -> bool:
        heard_all = self._turns.is_round() and not self._loads
        waited = now - self._topics_at
        return waited >= TOPICS_SECONDS or (self._is_first and heard_all)

    def _is_data_due(self, now: float) -> bool:
        free = self._data_task is None or self._data_task.done()
        return free and now - self._data_at >= DATA_SECONDS

    async def _ask_load(self, board: TopicBoard, broker: Broker) -> None:
        try:
            page = await self._telling.load(broker.address)
        except BrokerwiseError:
            board.drop(broker.name)
        else:
            board.take(broker.name, page, self.targets)

    async def _ask_data(self, source: DataSource) -> None:
        found = await ask_data(source)
        self._tell("data", lines.line("data", {"at": self._wall(), **found}))

    def _tell_topics(self) -> None:
        count, carried = count_topics(self._sql)
        board, channels = self.board, self.board.channels()
        counts = (count + channels, carried + channels, board.late())
        self._tell("topics", lines.topics(self._wall(), *counts, board.rows()))
