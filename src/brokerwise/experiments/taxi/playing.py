"""Lets taxis drive against a fleet that runs, and notes all that judging it takes."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from brokerwise.experiments.emergency.diary import Diary
from brokerwise.experiments.emergency.recording import Recorder
from brokerwise.experiments.taxi.city import Track, positions
from brokerwise.experiments.taxi.definitions import POSITIONS, updates
from brokerwise.experiments.taxi.oracle import is_true
from brokerwise.experiments.taxi.taxis import Taxi
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.supervisor import RunningFleet
from brokerwise.runtime.net.tasks import together

LEAD_SECONDS = 2.0  # for everyone to get ready
LOOK_SECONDS = 0.4  # between two looks at the data cluster's state
SETTLE_SECONDS = 60.0  # for the last positions and updates to arrive

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Driven:
    """What a drive has left. `seconds` is how long it took, until everything had
    arrived if it `settled`; `period` that of the channel."""

    taxis: tuple[Taxi, ...]
    recorder: Recorder
    diary: Diary
    period: float
    seconds: float
    settled: bool


async def drive(
    fleet: RunningFleet,
    tracks: Sequence[Track],
    directory: Path,
    *,
    seed: int = 0,
    period: float = 2.0,
    tell: Tell = lambda line: None,
) -> Driven:
    """Make the dataset and the channel, and let taxis drive; files go to `directory`,
    which is on the disk of the fleet's state.

    Raises what ends a client. Cancelling it ends them all.
    """
    client = DataClient.of(fleet.file)
    channel = updates(period)
    await client.create_dataset(POSITIONS)
    await client.create_channel(channel)  # once Spark has checked it
    recorder = Recorder(Path(fleet.file.data), directory / "segments")
    diary = Diary()
    async with AsyncExitStack() as stack:
        taxis = []
        for track in tracks:
            one = await stack.enter_async_context(await _client(fleet, track.taxi))
            told = positions(track, seed)
            taxis.append(Taxi(track.taxi, one, told, channel.name, diary))
        tell(f"{len(taxis)} taxis drive")
        began = time.time() + LEAD_SECONDS
        beside = [taxi.hear() for taxi in taxis] + [_record(recorder)]
        tasks = [asyncio.ensure_future(work) for work in beside]
        stack.push_async_callback(_end, tasks)
        await _all(taxis, began, tell)
        settled = await _settle(taxis, recorder)
        seconds = time.time() - began
    await asyncio.to_thread(recorder.look)
    return Driven(tuple(taxis), recorder, diary, period, seconds, settled)


async def _client(fleet: RunningFleet, user: str) -> Client:
    file = fleet.file
    token = await Operator(file).register(user)
    return Client(file.coordinator, user, token, authority=file.authority or None)


async def _all(taxis: Sequence[Taxi], began: float, tell: Tell) -> None:
    async with together() as group:
        driving = [group.create_task(taxi.drive(began)) for taxi in taxis]
        while not all(task.done() for task in driving):
            await asyncio.wait(driving, timeout=10.0)
            told = sum(len(taxi.told) for taxi in taxis)
            tell(f"{time.time() - began:4.0f} s  {told:,} positions told")


async def _record(recorder: Recorder) -> None:
    while True:
        await asyncio.to_thread(recorder.look)
        await asyncio.sleep(LOOK_SECONDS)


async def _settle(taxis: Sequence[Taxi], recorder: Recorder) -> bool:
    """Wait until all that was told is stored, the channel has covered it, and
    everyone has acknowledged all updates; False if that does not happen in time."""
    wanted = sum(is_true(position) for taxi in taxis for position, _ in taxi.told)
    until = time.time() + SETTLE_SECONDS
    while time.time() < until:
        await asyncio.sleep(LOOK_SECONDS)
        segments = list(recorder.recorded.segments.values())
        rows = sum(one.rows for one in segments)
        last = max((one.number for one in segments), default=0)
        if rows >= wanted and recorder.covered() >= last and not recorder.behind():
            return True
    return False


async def _end(tasks: Sequence["asyncio.Future[None]"]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
