"""Worker processes: started, followed, always ended."""

import asyncio
import sys

import msgspec
import pytest
from tests.runtime.replay.faulty_broker import FaultyBroker, running
from tests.runtime.replay.test_worker import run, task

from brokerwise.runtime.process.reporting import ReportingProcess
from brokerwise.runtime.replay.arrivals import Findings
from brokerwise.runtime.replay.crew import Crew, WorkerError, crew_of
from brokerwise.runtime.replay.tasks import Result, Task


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_workers_do_their_tasks() -> None:
    async def replayed() -> list[Result]:
        async with running(FaultyBroker()) as url:
            todo = msgspec.structs.replace(task(), brokers={"b0": url})
            async with crew_of([todo]) as crew:
                await crew.until(lambda: crew.connected == crew.lines)
                crew.begin({"news": 2})
                await crew.until(lambda: crew.arrived == todo.expected)
                assert crew.published == 43
                return await crew.finish()

    (result,) = run(replayed())
    assert result.findings == Findings()
    assert sum(result.latencies) == 83


def test_a_worker_that_dies_is_told_of_with_its_last_words() -> None:
    async def replayed() -> None:
        async with crew_of([task()], python("exit('no memory')")) as crew:
            await crew.until(lambda: False)

    with pytest.raises(WorkerError, match="ended with 1: no memory"):
        run(replayed())


def test_nothing_is_left_running_when_a_replay_is_cancelled() -> None:
    processes: list[ReportingProcess] = []

    async def forever(todo: Task) -> None:
        async with crew_of([todo, todo]) as crew:
            processes.extend(member.process for member in crew.members)
            await crew.until(lambda: crew.connected == crew.lines)
            await crew.until(lambda: False)

    async def cancelled() -> None:
        async with running(FaultyBroker()) as url:
            todo = msgspec.structs.replace(task(), brokers={"b0": url})
            work = asyncio.ensure_future(forever(todo))
            while not processes:
                await asyncio.sleep(0.01)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

    run(cancelled())
    assert [process.exit_code for process in processes] == [0, 0]


def test_a_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brokerwise.runtime.process.reporting.STOP_SECONDS", 0.1)
    seen: list[Crew] = []

    async def stubborn() -> None:
        async with crew_of([task()], python("import time; time.sleep(60)")) as crew:
            seen.append(crew)

    run(stubborn())
    assert seen[0].members[0].process.exit_code == -9


def test_silence_is_noticed() -> None:
    async def quiet() -> bool:
        async with crew_of([task()], python("import sys; sys.stdin.read()")) as crew:
            return await crew.until(lambda: False, quiet=0.05)

    assert run(quiet()) is False
