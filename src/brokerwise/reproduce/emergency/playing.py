"""Plays a scenario against a fleet that runs, and notes all that judging it takes.

Reports are fed when their time has come, processes of the fleet are killed if that is
asked for, and what Spark uses and what brokers carry is watched meanwhile.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from brokerwise.model.errors import BrokerwiseError
from brokerwise.reproduce.emergency.city import (
    CHANNELS,
    DATASETS,
    REPORTS,
    SHELTERS,
    Report,
    reports,
    shelters,
)
from brokerwise.reproduce.emergency.player import (
    COMMAND,
    NOTICES,
    Done,
    PlayerReport,
    Progress,
    Task,
)
from brokerwise.reproduce.emergency.records import Recorder
from brokerwise.reproduce.emergency.scenario import (
    Scenario,
    Settings,
    places_at_login,
    write_scenario,
)
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.balance_answers import Balance
from brokerwise.runtime.fleet.operator import BalanceOperator, Operator
from brokerwise.runtime.fleet.supervisor import RunningFleet
from brokerwise.runtime.load.processes import Workers, started_workers
from brokerwise.runtime.net.tasks import few_at_a_time, together

# Feeding reports


BATCH_SECONDS = 0.25  # reports of so long go together


class ReportFeeding:
    """Batches have ids and are sent until they are answered; while one waits for its
    answer the next ones go out too. `acknowledged` are the names of reports that the
    data cluster has said it has."""

    def __init__(
        self, client: DataClient, reports: Sequence[Report], began: float
    ) -> None:
        self._client, self._reports, self._began = client, reports, began
        self.acknowledged: list[str] = []
        self.rejected = 0

    async def run(self) -> None:
        """Returns when all are acknowledged; raises what a feed raises that is not
        answered within its patience. Cancelling it leaves out the rest."""
        async with together() as group:
            fed = 0
            while fed < len(self._reports):
                await asyncio.sleep(BATCH_SECONDS)
                due = self._due(fed)
                if due:
                    group.create_task(self._feed(f"reports-{fed}", due))
                    fed += len(due)

    def _due(self, first: int) -> Sequence[Report]:
        now = time.time() - self._began
        last = first
        while last < len(self._reports) and self._reports[last].at <= now:
            last += 1
        return self._reports[first:last]

    async def _feed(self, batch: str, reports: Sequence[Report]) -> None:
        fed_at = int(time.time() * 1000)
        records = [report.record(fed_at) for report in reports]
        fed = await self._client.feed(REPORTS.name, records, batch)
        self.rejected += fed.rejected
        self.acknowledged += [report.report for report in reports]


# Killing processes


DATA_CLUSTER, COORDINATOR = "data-cluster", "coordinator"  # others are brokers
BACK_SECONDS = 120.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Kill:
    """`part` is killed `at` so many seconds after the beginning, but not before so
    many results were `handed` over."""

    at: float
    part: str
    handed: int = 0


@dataclass(frozen=True)
class Killed:
    """Seconds since 1970; `back`: when it could be used again."""

    part: str
    at: float
    back: float


class NotBackError(BrokerwiseError):
    """A process that was killed did not come back."""


class Disturbing:
    def __init__(self, fleet: RunningFleet, client: DataClient) -> None:
        self._fleet, self._client = fleet, client

    async def kill(self, part: str) -> Killed:
        """kill -9, and wait until it is back. Raises NotBackError."""
        pid = self._pid(part)
        if pid is None:
            raise NotBackError(f"{part} is not there to be killed")
        os.kill(pid, signal.SIGKILL)
        at = time.time()
        while not await self._is_back(part, pid):
            if time.time() > at + BACK_SECONDS:
                raise NotBackError(f"{part} was not back after {BACK_SECONDS:g} s")
            await asyncio.sleep(_LOOK_SECONDS)
        return Killed(part, at, time.time())

    def _pid(self, part: str) -> int | None:
        if part == DATA_CLUSTER:
            return self._fleet.data_cluster_pid
        if part == COORDINATOR:
            return self._fleet.coordinator_pid
        return self._fleet.pids.get(part)

    async def _is_back(self, part: str, former: int) -> bool:
        """The data cluster is when its Spark is."""
        if self._pid(part) in (None, former):
            return False
        if part != DATA_CLUSTER:
            return True
        try:
            return (await self._client.status()).spark == "up"
        except BrokerwiseError:
            return False


# What Spark uses of the machine


@dataclass
class SparkMeter:
    """Adds up CPU seconds since the first reading, also when the data cluster is
    another process each time. What one used after its last reading is not counted."""

    client: DataClient
    _used: float = 0.0
    _last: dict[str, float] = field(default_factory=dict)

    async def run(self) -> None:
        """Read each second until cancelled."""
        while True:
            with suppress(BrokerwiseError):  # it is being started again
                await self.read()
            await asyncio.sleep(1.0)

    async def read(self) -> float:
        """CPU seconds until now. Raises what asking the data cluster raises."""
        status = await self.client.status()
        now = status.spark_cpu_seconds
        first = now if not self._last else 0.0
        self._used += now - self._last.get(status.instance, first)
        self._last[status.instance] = now
        return self._used


# What brokers carry


LOAD_SECONDS = 5.0  # between two looks


@dataclass(frozen=True)
class Sample:
    """Loads in bytes a second and sessions of each broker, by name; `at` in seconds
    since 1970."""

    at: float
    loads: tuple[float, ...]
    sessions: tuple[int, ...]
    cov: float

    @classmethod
    def of(cls, balance: Balance) -> "Sample | None":
        """Nothing if loads could not be had."""
        if balance.measured is None or balance.cov is None:
            return None
        brokers = sorted(balance.brokers, key=lambda one: one.broker)
        loads = tuple(one.load for one in brokers)
        sessions = tuple(one.sessions for one in brokers)
        return cls(balance.measured, loads, sessions, balance.cov)


@dataclass
class LoadWatch:
    """Looks every few seconds; looks that fail are counted and left out."""

    balancing: BalanceOperator
    samples: list[Sample] = field(default_factory=list)
    failed: int = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            began = time.monotonic()
            await self._look()
            left = LOAD_SECONDS - (time.monotonic() - began)
            await asyncio.sleep(max(0.0, left))

    async def _look(self) -> None:
        try:
            sample = Sample.of(await self.balancing.look())
        except BrokerwiseError:
            sample = None
        if sample is None:
            self.failed += 1
        elif not self.samples or sample.at > self.samples[-1].at:
            self.samples.append(sample)


@asynccontextmanager
async def beside(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """They go on while the context is open; an error in one is raised at the end."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


# The whole of it


LEAD_SECONDS = 2.0  # for players to start
LOOK_SECONDS = 0.5  # between two looks at the data cluster's state
NOTICE_SECONDS = 0.2  # between two notices
SETTLE_SECONDS = 120.0  # for the last results to arrive
HEARING = 20  # users who hear the notices
_AT_ONCE = 20  # registrations

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Played:
    """What a scenario has left. `seconds` is how long it took, from its beginning
    (`began`, seconds since 1970) until everything had arrived, in which Spark used
    `spark_cpu_seconds`."""

    settings: Settings
    recorder: Recorder
    diaries: tuple[Path, ...]
    acknowledged: tuple[str, ...]
    killed: tuple[Killed, ...]
    seconds: float
    spark_cpu_seconds: float
    settled: bool
    began: float


async def prepare(client: DataClient, settings: Settings) -> None:
    """Datasets, shelters and channels. Returns when Spark has checked all of it."""
    for dataset in DATASETS:
        await client.create_dataset(dataset)
    places = list(shelters(settings.seed, settings.shelters))
    await client.feed(SHELTERS.name, places, batch="shelters")
    for channel in CHANNELS:
        await client.create_channel(channel)


async def play(
    fleet: RunningFleet,
    scenario: Scenario,
    directory: Path,
    *,
    players: int = 1,
    kills: Sequence[Kill] = (),
    tell: Tell = lambda line: None,
) -> Played:
    """Play a scenario, with `players` processes, against a fleet that `prepare` has
    seen; files go to `directory`, which is on the disk of the fleet's state.

    Raises what ends a client or a feed. Cancelling it ends the players.
    """
    return await _Play(fleet, scenario, directory, players, kills, tell).run()


class _Play:
    def __init__(
        self,
        fleet: RunningFleet,
        scenario: Scenario,
        directory: Path,
        players: int,
        kills: Sequence[Kill],
        tell: Tell,
    ) -> None:
        self._fleet, self._scenario, self._directory = fleet, scenario, directory
        self._players, self._kills, self._tell = players, kills, tell
        self._client = DataClient.of(fleet.file)
        self._operator = Operator(fleet.file)
        self._recorder = Recorder(Path(fleet.file.data), directory / "segments")
        self._meter = SparkMeter(self._client)
        self._diaries = [directory / f"diary-{n}" for n in range(players)]
        self._killed: list[Killed] = []
        self._began = 0.0

    async def run(self) -> Played:
        path = self._directory / "scenario.ndjson.gz"
        write_scenario(self._scenario, path)
        tokens = await self._register()
        notices = await self._operator.register(NOTICES)
        self._began = time.time() + LEAD_SECONDS
        tasks = [
            self._task(path, diary, number, tokens)
            for number, diary in enumerate(self._diaries)
        ]
        async with (
            started_workers(COMMAND, tasks, PlayerReport, Done, "a player") as players,
            beside(
                self._recorder.run(LOOK_SECONDS),
                self._meter.run(),
                self._publish(notices),
            ),
        ):
            feeding = await self._whole(players)
            settled = await self._settle()
            seconds = time.time() - self._began
            cpu = await self._meter.read()
            await asyncio.to_thread(self._recorder.look)
            players.go_on()
            await players.finished()
        return Played(
            self._scenario.settings,
            self._recorder,
            tuple(self._diaries),
            tuple(feeding.acknowledged),
            tuple(self._killed),
            seconds,
            cpu,
            settled,
            self._began,
        )

    async def _register(self) -> dict[str, str]:
        users = sorted(self._scenario.of_user())
        places = places_at_login(self._scenario)
        register = self._operator.register
        works = [partial(register, user, places.get(user)) for user in users]
        tokens = await few_at_a_time(works, _AT_ONCE)
        return dict(zip(users, tokens, strict=True))

    def _task(
        self, path: Path, diary: Path, number: int, tokens: dict[str, str]
    ) -> Task:
        own = list(tokens.items())[number :: self._players]
        return Task(
            scenario=str(path),
            coordinator=self._fleet.coordinator,
            tokens=dict(own),
            began=self._began,
            diary=str(diary),
            authority=self._fleet.file.authority,
            notices=-(-HEARING // self._players),
        )

    async def _whole(self, players: Workers[Done]) -> ReportFeeding:
        """The scenario from beginning to end."""
        settings = self._scenario.settings
        made = reports(settings.seed, settings.reports, settings.seconds)
        feeding = ReportFeeding(self._client, made, self._began)
        async with together() as group:
            group.create_task(feeding.run())
            for kill in self._kills:
                group.create_task(self._disturb(kill, players))
            end = self._began + settings.seconds
            while time.time() < end:
                await asyncio.sleep(min(5.0, max(0.0, end - time.time())))
                players.check()
                self._tell(_said(time.time() - self._began, _progress(players)))
        return feeding

    async def _disturb(self, kill: Kill, players: Workers[Done]) -> None:
        await asyncio.sleep(max(0.0, self._began + kill.at - time.time()))
        while _progress(players).handed < kill.handed:
            await asyncio.sleep(LOOK_SECONDS)
        self._tell(f"kill -9 of {kill.part}")
        killed = await Disturbing(self._fleet, self._client).kill(kill.part)
        self._killed.append(killed)
        self._tell(f"{kill.part} is back after {killed.back - killed.at:.1f} s")

    async def _settle(self) -> bool:
        """Wait until channels have covered all that was fed and everyone online has
        acknowledged all results; False if that does not happen in time."""
        await asyncio.to_thread(self._recorder.look)
        segments = self._recorder.recorded.segments.values()
        fed = [one.number for one in segments if one.dataset == REPORTS.name]
        last = max(fed, default=0)
        until = time.time() + SETTLE_SECONDS
        while time.time() < until:
            if self._recorder.covered() >= last and not self._recorder.behind():
                return True
            await asyncio.sleep(LOOK_SECONDS)
        return False

    async def _publish(self, token: str) -> None:
        file = self._fleet.file
        async with Client(
            file.coordinator, NOTICES, token, authority=file.authority or None
        ) as client:
            while True:
                await client.publish(NOTICES, "all is well")
                await asyncio.sleep(NOTICE_SECONDS)


def _progress(players: Workers[Done]) -> Progress:
    """Of all players together."""
    found = players.latest(Progress)
    return Progress(
        sum(one.online for one in found),
        sum(one.subscribed for one in found),
        sum(one.handed for one in found),
    )


def _said(seconds: float, progress: Progress) -> str:
    return (
        f"{seconds:4.0f} s  {progress.online:,} online, {progress.subscribed:,} "
        f"subscriptions, {progress.handed:,} results delivered"
    )
