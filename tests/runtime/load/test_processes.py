"""Worker processes: started, told to go on, followed, and always ended."""

import asyncio
import os
import sys

import msgspec
import pytest
from tests.runtime.load.faulty_broker import FaultyBroker, running
from tests.runtime.load.test_worker import task as a_task

from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.processes import WorkerError, started_workers
from brokerwise.runtime.load.replay import COMMAND
from brokerwise.runtime.load.worker import (
    PublishersConnected,
    ReplayProgress,
    SessionsOpened,
    WorkerReport,
    WorkerResult,
)


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_workers_do_their_tasks() -> None:
    async with running(FaultyBroker()) as coordinator:
        todo = msgspec.structs.replace(a_task(), coordinator=coordinator)
        async with started_workers(
            COMMAND, [todo], WorkerReport, WorkerResult
        ) as workers:
            await workers.until(
                lambda: workers.latest(SessionsOpened) == [SessionsOpened(2)]
            )
            workers.go_on()
            await workers.until(lambda: workers.have_all(PublishersConnected))
            workers.go_on()
            await workers.until(
                lambda: workers.latest(ReplayProgress) == [ReplayProgress(43, 83)]
            )
            workers.go_on()
            (result,) = await workers.finished()
    assert result.findings == Findings()
    assert sum(result.latencies) == 83


async def test_a_task_that_fails_is_told_of() -> None:
    async with running(FaultyBroker(unknown="chess")) as coordinator:
        todo = msgspec.structs.replace(a_task(), coordinator=coordinator)
        with pytest.raises(WorkerError, match="there is no topic 'chess'"):
            async with started_workers(
                COMMAND, [todo], WorkerReport, WorkerResult
            ) as workers:
                await workers.finished()


async def test_a_worker_that_dies_is_told_of_with_its_last_words() -> None:
    with pytest.raises(WorkerError, match="a worker ended with 1: no memory"):
        async with started_workers(
            python("exit('no memory')"), [a_task()], WorkerReport, WorkerResult
        ) as workers:
            await workers.until(lambda: False)


async def test_nothing_is_left_running_when_a_replay_is_cancelled() -> None:
    pids: list[int] = []

    async def forever(coordinator: str) -> None:
        todo = msgspec.structs.replace(a_task(), coordinator=coordinator)
        async with started_workers(
            COMMAND, [todo, todo], WorkerReport, WorkerResult
        ) as workers:
            pids.extend(workers.pids)
            await workers.until(lambda: False)

    async with running(FaultyBroker()) as coordinator:
        work = asyncio.ensure_future(forever(coordinator))
        while not pids:
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert len(pids) == 2
    assert not any(map(is_running, pids))


async def test_a_worker_that_does_not_end_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.runtime.load.processes.STOP_SECONDS", 0.1)
    stubborn = python("import time; time.sleep(60)")
    async with started_workers(
        stubborn, [a_task()], WorkerReport, WorkerResult
    ) as workers:
        (pid,) = workers.pids
    assert not is_running(pid)


async def test_silence_is_noticed() -> None:
    silent = python("import sys; sys.stdin.read()")
    async with started_workers(
        silent, [a_task()], WorkerReport, WorkerResult
    ) as workers:
        assert not await workers.until(lambda: False, quiet=0.05)
