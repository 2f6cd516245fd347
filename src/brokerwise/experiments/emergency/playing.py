"""Plays a scenario against a fleet that runs, and notes all that judging it takes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from brokerwise.experiments.emergency.city import reports, shelters
from brokerwise.experiments.emergency.definitions import (
    CHANNELS,
    DATASETS,
    REPORTS,
    SHELTERS,
)
from brokerwise.experiments.emergency.disturbing import Disturbing, Kill, Killed
from brokerwise.experiments.emergency.player import (
    COMMAND,
    Done,
    Progress,
    Report,
    Task,
)
from brokerwise.experiments.emergency.recording import Recorder
from brokerwise.experiments.emergency.report_feeding import ReportFeeding
from brokerwise.experiments.emergency.scenario import (
    Scenario,
    Settings,
    write_scenario,
)
from brokerwise.experiments.emergency.spark_meter import SparkMeter
from brokerwise.experiments.emergency.tracks import places_at_login
from brokerwise.experiments.emergency.user_playing import NOTICES
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.supervisor import RunningFleet
from brokerwise.runtime.load.processes import Workers, started_workers
from brokerwise.runtime.net.tasks import few_at_a_time, together

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
            started_workers(COMMAND, tasks, Report, Done, "a player") as players,
            self._beside(notices),
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

    @asynccontextmanager
    async def _beside(self, token: str) -> AsyncIterator[None]:
        """What goes on all the time."""
        tasks = [
            asyncio.ensure_future(self._record()),
            asyncio.ensure_future(self._meter.run()),
            asyncio.ensure_future(self._publish(token)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _record(self) -> None:
        while True:
            await asyncio.to_thread(self._recorder.look)
            await asyncio.sleep(LOOK_SECONDS)

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
