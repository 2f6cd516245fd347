"""One process: it comes up or it is said why not, and it always ends."""

import asyncio
import os
import signal
from dataclasses import replace

import pytest
from tests.runtime.fleet.fakes import Fakes, gone, until

from brokerwise.runtime.fleet.children import (
    Program,
    Restarts,
    StartError,
    running_child,
)
from brokerwise.runtime.process import logs
from brokerwise.runtime.process.launch import EXIT_RESTART


async def test_a_child_gets_its_launch_and_is_there_until_the_context_is_left(
    fakes: Fakes,
) -> None:
    async with running_child(fakes.program("b7")) as child:
        assert child.ready.name == "b7"
        assert child.ready.pid == child.pid
        assert not gone(child.pid)
        pid = child.pid
    assert gone(pid)
    (launch,) = fakes.starts()
    assert launch["keys"] == {"user": "00"}


async def test_a_child_that_fails_to_start_is_explained_by_its_last_line(
    fakes: Fakes,
) -> None:
    fakes.tell("b0", "fail")
    with pytest.raises(StartError) as caught:
        await _start(fakes.program())
    error = caught.value
    assert (error.name, error.exit_code) == ("b0", 1)
    assert error.last_line == "the port is taken"
    assert error.message == (
        "broker 'b0' exited with 1 before it was ready; "
        "last output: 'the port is taken'"
    )
    assert str(fakes.folder / "logs" / "b0.log") in error.hint


async def test_the_last_line_is_not_one_of_an_earlier_life(fakes: Fakes) -> None:
    fakes.tell("b0", "fail")
    for behaviour, said in (("fail", "the port is taken"), ("fail 9", "")):
        fakes.tell("b0", behaviour)
        with pytest.raises(StartError) as caught:
            await _start(fakes.program())
        assert caught.value.last_line == said
    assert "it said nothing" in caught.value.message


async def test_a_coordinator_that_fails_to_start_is_called_one(fakes: Fakes) -> None:
    fakes.tell("coordinator", "fail 3")
    with pytest.raises(StartError, match="the coordinator exited with 3"):
        await _start(fakes.program("coordinator", subject="the coordinator"))


async def test_a_child_that_never_announces_itself_is_given_up_and_ended(
    fakes: Fakes,
) -> None:
    fakes.tell("b0", "silent")
    with pytest.raises(StartError, match=r"not ready within 0\.5 s") as caught:
        await _start(fakes.program(start_seconds=0.5))
    assert caught.value.exit_code is None
    assert all(gone(start["pid"]) for start in fakes.starts())


async def test_a_start_that_is_cancelled_leaves_nothing_running(fakes: Fakes) -> None:
    fakes.tell("b0", "silent")

    start = asyncio.create_task(_start(fakes.program()))
    await until(lambda: len(fakes.starts()) == 1)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert gone(fakes.starts()[0]["pid"])


async def test_a_command_that_does_not_exist_is_an_error_of_its_start(
    fakes: Fakes,
) -> None:
    program = fakes.program()
    missing = replace(program, command=("/does/not/exist",))
    with pytest.raises(StartError, match="/does/not/exist"):
        await _start(missing)


async def test_a_child_that_ignores_everything_is_killed(
    fakes: Fakes, caplog: pytest.LogCaptureFixture
) -> None:
    fakes.tell("b0", "stubborn")

    async def work() -> tuple[int, int]:
        async with running_child(fakes.program(stop_seconds=0.3)) as child:
            watched = asyncio.create_task(child.ended())
        return child.pid, await watched

    pid, code = await work()
    assert code == -signal.SIGKILL
    assert gone(pid)
    assert f"b0 (process {pid}) did not end within 0.3 s: killed" in caplog.text


async def test_a_frozen_child_is_killed_too(fakes: Fakes) -> None:
    async def work() -> int:
        async with running_child(fakes.program(stop_seconds=0.3)) as child:
            os.kill(child.pid, signal.SIGSTOP)
            return child.pid

    assert gone(await work())


async def test_how_a_child_ended_is_told(fakes: Fakes) -> None:
    async def work() -> int:
        async with running_child(fakes.program()) as child:
            os.kill(child.pid, signal.SIGKILL)
            return await child.ended()

    assert await work() == -signal.SIGKILL


async def test_all_that_a_child_says_is_in_its_log_and_never_blocks_it(
    fakes: Fakes,
) -> None:
    fakes.tell("b0", "talk")
    log = fakes.program().log

    async with running_child(fakes.program()):
        await until(lambda: b"all said" in log.read_bytes())
    said = log.read_text()
    assert said.startswith("a word before\n")
    spoken = "a word before\n" + "out " * 100_000 + "\nall said\n"
    assert len(said) == len(spoken) + len("err ") * 100_000 + 1
    assert "url" not in said


async def test_a_child_that_was_too_loud_goes_on_in_an_empty_log(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_LOG_BYTES", 1000)
    monkeypatch.setattr(logs, "LOOK_SECONDS", 0.01)
    fakes.tell("b0", "talk")
    log = fakes.program().log
    old = log.with_name("b0.log.1")

    async with running_child(fakes.program()):
        await until(lambda: old.exists() and log.stat().st_size == 0)
    assert old.stat().st_size > 1000


async def _start(program: Program) -> None:
    async with running_child(program):
        pass


def test_pauses_double_from_half_a_second_up_to_ten() -> None:
    restarts = Restarts()
    pauses = [restarts.pause(-9, 1.0) for _ in range(8)]
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10]


def test_one_that_lived_long_enough_is_a_first_failure_again() -> None:
    restarts = Restarts()
    for _ in range(5):
        restarts.pause(1, 0.1)
    assert restarts.pause(1, 10.0) == 0.5


def test_one_that_ended_well_stays_out_but_not_a_coordinator() -> None:
    assert Restarts().pause(0, 1.0) is None
    assert Restarts(always=True).pause(0, 1.0) == 0.5


def test_one_that_asks_for_it_is_started_at_once() -> None:
    restarts = Restarts()
    assert [restarts.pause(EXIT_RESTART, 1.0) for _ in range(3)] == [0, 0, 0]
    assert restarts.pause(None, 1.0) == 0.5


def test_failures_without_end_stay_at_the_longest_pause() -> None:
    restarts = Restarts(failures=10_000)
    assert restarts.pause(1, 0.0) == 10
