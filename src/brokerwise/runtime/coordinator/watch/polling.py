"""Asking brokers and the data cluster, for operators who watch and only while they do.

Times are seconds since 1970, unless they are called `now`: those are of a clock that
does not go back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from msgspec.structs import asdict

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.store import is_planned
from brokerwise.runtime.coordinator.watch.memory import TopicBoard, busiest, topic_rows
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import ChannelStatus, DatasetStatus
from brokerwise.runtime.protocol.fleet import SessionState, TrafficPage
from brokerwise.runtime.protocol.watch import (
    ChannelRow,
    DataLine,
    DatasetRow,
    Line,
    SessionView,
    TopicRow,
    TopicsLine,
    TopicView,
)

TOPICS_SECONDS = 10.0  # each broker is asked so often, and the topics are sent
ASKED_AT_ONCE = 10  # brokers, each second: more of them have their turn later
DATA_SECONDS = 5.0
ASKED_ALONE = 20  # channels, for their last run; and datasets, for what was wrong
MOST_TOPICS = 500
MOST_SESSIONS = 500
_NEVER = float("-inf")

T = TypeVar("T", bound=ChannelStatus | DatasetStatus)

log = logging.getLogger(__name__)


class DataSource(Protocol):
    """As `client.data_cluster.DataClient`."""

    async def channels(self) -> tuple[ChannelStatus, ...]: ...

    async def channel(self, name: str) -> ChannelStatus: ...

    async def datasets(self) -> tuple[DatasetStatus, ...]: ...

    async def dataset(self, name: str) -> DatasetStatus: ...


class PollSchedule:
    """Which brokers to ask next: each every `every` seconds or, if that would be more
    than `at_once` of them each time, as often as that allows. No clock."""

    def __init__(self, every: float, at_once: int) -> None:
        self._every, self._at_once = every, at_once
        self._asked: dict[str, float] = {}

    def next(self, names: Iterable[str], now: float) -> list[str]:
        """Those that are due, the longest waiting first; they count as asked."""
        asked = {name: self._asked.get(name, _NEVER) for name in names}
        due = [name for name, at in asked.items() if now - at >= self._every]
        due.sort(key=asked.__getitem__)
        chosen = due[: self._at_once]
        self._asked = asked | dict.fromkeys(chosen, now)
        return chosen

    def is_round(self) -> bool:
        """True if all that were named the last time have been asked."""
        return _NEVER not in self._asked.values()


class Poller:
    """`publish` is given the lines; `wall` gives seconds since 1970. What was known of
    a broker that does not answer is forgotten."""

    def __init__(
        self,
        sql: Sql,
        telling: BrokerClient,
        data: DataSource | None,
        publish: Callable[[Line], None],
        wall: Callable[[], float],
    ) -> None:
        self._sql, self._telling, self._data = sql, telling, data
        self._publish, self._wall = publish, wall
        self.targets = read_targets(sql)
        self._unanswered: set[str] = set()
        self._data_problem = ""
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """Somebody watches after nobody did: what was heard before is old."""
        self.board = TopicBoard()
        self._schedule = PollSchedule(TOPICS_SECONDS, ASKED_AT_ONCE)
        self._load_tasks: set[asyncio.Task[None]] = set()
        self._topics_at, self._is_first = now, True
        self._data_at = now - DATA_SECONDS
        self._data_task: asyncio.Task[None] | None = None

    def poll(
        self, group: asyncio.TaskGroup, brokers: Mapping[str, Broker], now: float
    ) -> None:
        """Once a second: ask those of the running brokers that are due, and publish
        what is due."""
        self.board.keep_only(brokers)
        self._unanswered &= brokers.keys()
        for name in self._schedule.next(brokers, now):
            task = group.create_task(self._ask_load(self.board, brokers[name]))
            self._load_tasks.add(task)
            task.add_done_callback(self._load_tasks.discard)
        if self._is_topics_due(now):
            self._topics_at, self._is_first = now, False
            self._publish(self._topics_line())
        if self._data is not None and self._is_data_due(now):
            self._data_at = now
            self._data_task = group.create_task(self._ask_data(self._data))

    def _is_topics_due(self, now: float) -> bool:
        heard_all = self._schedule.is_round() and not self._load_tasks
        waited = now - self._topics_at
        return waited >= TOPICS_SECONDS or (self._is_first and heard_all)

    def _is_data_due(self, now: float) -> bool:
        free = self._data_task is None or self._data_task.done()
        return free and now - self._data_at >= DATA_SECONDS

    async def _ask_load(self, board: TopicBoard, broker: Broker) -> None:
        try:
            page = await self._telling.load(broker.address)
        except BrokerwiseError as error:
            board.forget(broker.name)
            if broker.name not in self._unanswered:
                self._unanswered.add(broker.name)
                log.warning(
                    "cannot ask broker %r for its topics: %s", broker.name, error
                )
        else:
            board.replace(broker.name, page, self.targets)
            self._unanswered.discard(broker.name)

    async def _ask_data(self, source: DataSource) -> None:
        line = await ask_data(source, self._wall)
        if line.problem and line.problem != self._data_problem:
            log.warning("cannot ask the data cluster: %s", line.problem)
        self._data_problem = line.problem
        self._publish(line)

    def _topics_line(self) -> TopicsLine:
        count, carried = count_topics(self._sql)
        board, channels = self.board, self.board.channels()
        return TopicsLine(
            at=self._wall(),
            count=count + channels,
            carried=carried + channels,
            late=board.late(),
            topics=board.rows(),
        )


def read_targets(sql: Sql) -> dict[str, float]:
    """Milliseconds, of the topics that have a target; they do not change while a fleet
    runs."""
    return dict(
        sql.execute("SELECT name, target_ms FROM topics WHERE target_ms IS NOT NULL")
    )


def count_topics(sql: Sql) -> tuple[int, int]:
    """How many topics there are, and how many of them a broker carries."""
    table = "topics" if is_planned(sql) else "routes"
    (count,) = sql.execute(f"SELECT count(*) FROM {table}").fetchone()
    (carried,) = sql.execute("SELECT count(DISTINCT topic) FROM carriers").fetchone()
    return int(count), int(carried)


@dataclass(frozen=True)
class BrokerPages:
    """A broker's busiest topics and first sessions, as it says itself; `problem` says
    why it could not be asked."""

    topics: list[TopicView]
    topic_count: int
    sessions: list[SessionView]
    session_count: int
    problem: str


async def ask_broker(
    telling: BrokerClient, broker: Broker, targets: Mapping[str, float]
) -> BrokerPages:
    """Cancelling it loses nothing."""
    page, sessions, problem = TrafficPage(), dict[str, SessionState](), ""
    if not broker.alive:
        problem = f"broker {broker.name!r} is not there to be asked"
    else:
        try:
            page = await telling.load(broker.address)
            sessions = await telling.sessions(broker.address)
        except BrokerwiseError as error:
            problem = error.message
    users = sorted(sessions)
    rows = busiest(topic_rows(broker.name, page, targets), MOST_TOPICS)
    shown = users[:MOST_SESSIONS]
    return BrokerPages(
        topics=[_view(row) for row in rows],
        topic_count=len(page.topics),
        sessions=[SessionView(user, len(sessions[user].topics)) for user in shown],
        session_count=len(users),
        problem=problem,
    )


def _view(row: TopicRow) -> TopicView:
    """Without its broker, which is known where it is shown."""
    known = asdict(row)
    del known["broker"]
    return TopicView(**known)


async def ask_data(source: DataSource, wall: Callable[[], float]) -> DataLine:
    """The data cluster's channels and datasets, as it gives them. Cancelling it loses
    nothing."""
    try:
        datasets, channels = await source.datasets(), await source.channels()
    except BrokerwiseError as error:
        return DataLine(wall(), error.message, [], [])
    wrong = [dataset for dataset in datasets if dataset.rejected]
    alone = {d.name: d for d in await _ask_alone(source.dataset, wrong)}
    datasets = tuple(alone.get(dataset.name, dataset) for dataset in datasets)
    channels = await _ask_alone(source.channel, channels)
    return DataLine(
        wall(), "", list(map(_channel_row, channels)), list(map(_dataset_row, datasets))
    )


async def _ask_alone(
    ask: Callable[[str], Awaitable[T]], listed: Sequence[T]
) -> tuple[T, ...]:
    """The first ones with what is told only of one alone; the others, and those that
    cannot be asked for, as they were listed."""

    async def one(before: T) -> T:
        try:
            return await ask(before.name)
        except BrokerwiseError:  # it may just have been dropped
            return before

    first = await asyncio.gather(*map(one, listed[:ASKED_ALONE]))
    return (*first, *listed[ASKED_ALONE:])


def _channel_row(channel: ChannelStatus) -> ChannelRow:
    last = next(iter(channel.last_runs), None)
    aside = next((each.reason for each in channel.set_aside), "")
    return ChannelRow(
        name=channel.name,
        every_seconds=channel.period,
        subscriptions=channel.subscriptions,
        last_run=last.started if last else None,
        took_ms=round(last.seconds * 1000, 1) if last else None,
        results=last.rows if last else None,
        error=channel.suspended or aside,
        failures=channel.set_aside_count,
    )


def _dataset_row(dataset: DatasetStatus) -> DatasetRow:
    aside = next((each.reason for each in dataset.last_rejected), "")
    return DatasetRow(
        name=dataset.name,
        kind=dataset.kind,
        records=dataset.rows,
        fed=dataset.fed,
        last_fed=dataset.last_fed,
        errors=dataset.rejected,
        error=aside,
    )
