"""Processing steps: in order, one worker each, started again when it dies; some only
when a message needs them."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop
from tests.processes import Process, wait_until
from tests.runtime.broker.fakes import FakeBroker, message, route

from brokerwise.runtime.broker.processing import (
    Step,
    StepStartError,
    TopicSteps,
)


class Stepping:
    """A broker's core that carries one topic, whose step is for later."""

    def __init__(self) -> None:
        self.steps = TopicSteps()
        self.broker = FakeBroker("b0", steps=self.steps)
        self.broker.router.change_routes([route("gps", 1, "b0")])

    def hear(self, *seqs: int) -> None:
        session, _ = self.broker.session("cab")
        for seq in seqs:
            self.broker.hear(session, message("gps", seq, generation=1, data=seq))


async def test_messages_wait_for_a_step_that_is_started_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    core = Stepping()
    await core.steps.start({}, {"gps": "step_functions:doubled"})
    core.hear(1, 2, 3, 4)
    assert core.steps.counts()["gps"]["waiting"] == 4
    await core.steps.close()
    counts = core.steps.counts()["gps"]
    assert (counts["passed"], counts["dropped"], counts["waiting"]) == (2, 2, 0)


async def test_a_step_that_cannot_be_started_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    core = Stepping()
    await core.steps.start({}, {"gps": "nowhere:nothing"})
    core.hear(1)
    await core.steps.close()
    assert "messages of topic 'gps' are not processed" in caplog.text


T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture(autouse=True)
def step_functions(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    caplog.set_level(logging.INFO)


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run[Any]]:
    """Runs a coroutine on either event loop; no worker outlives it."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else None

    def bounded(work: Coroutine[Any, Any, T]) -> T:
        async def timed() -> T:
            async with asyncio.timeout(60):
                return await work

        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(timed())

    before = children()
    yield bounded
    assert children() <= before


def children() -> set[int]:
    """Workers of ours that still run, or that nobody has waited for: what a zombie
    was called to do is forgotten."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            _, parent = stat.read_text().rsplit(")", 1)[1].split()[:2]
            command = stat.with_name("cmdline").read_bytes()
            is_worker = not command or b"broker.step_worker" in command
            if int(parent) == os.getpid() and is_worker:
                found.add(int(stat.parent.name))
    return found


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def put_through(step: Step, values: list[bytes]) -> list[bytes | None]:
    results: list[bytes | None] = []
    for value in values:
        step.submit(value, results.append)
    await step.drain()
    return results


def test_results_come_in_order_and_none_drops(run: Run[Any]) -> None:
    async def work() -> None:
        async with Step("step_functions:doubled") as step:
            found = await put_through(step, [b"%d" % i for i in range(500)])
            expected = [None if i % 2 else b"%d" % (2 * i) for i in range(500)]
            assert found == expected
            assert (step.counts.passed, step.counts.dropped) == (250, 250)
            assert len(step) == 0

    run(work())


def test_spinning_burns_processor_time_and_changes_nothing(run: Run[Any]) -> None:
    async def work() -> None:
        data = [b'{"b": 1,\n "a": "\\n"}', b"null", b'"\xc3\xa9"']
        async with Step("spin:40") as step:
            start = time.perf_counter()
            found = await put_through(step, data)
            assert time.perf_counter() - start >= 0.12
        assert found == [b'{"b": 1,  "a": "\\n"}', b"null", b'"\xc3\xa9"']

    run(work())


def test_an_exception_drops_its_message_and_is_told_once(
    run: Run[Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with Step("step_functions:fragile") as step:
            found = await put_through(step, [b"1", b"3", b"4", b"6", b'"x"', b"7"])
            assert found == [b"1", None, b"4", None, None, b"7"]
            assert (step.counts.failed, step.counts.restarts) == (3, 0)

    with caplog.at_level(logging.WARNING):
        run(work())
    told = [r.getMessage() for r in caplog.records if "dropped" in r.getMessage()]
    assert len(told) == 1
    assert "ValueError: 3 is a multiple of 3" in told[0]


def test_a_worker_that_dies_costs_one_message(run: Run[Any]) -> None:
    async def work() -> None:
        async with Step("step_functions:fragile") as step:
            found = await put_through(step, [b"%d" % i for i in (1, 2, 5, 4, 7, 10, 8)])
            assert found == [b"1", b"2", None, b"4", b"7", None, b"8"]
            assert (step.counts.poisonous, step.counts.restarts) == (2, 2)
            assert step.counts.passed == 5

    run(work())


def test_an_idle_worker_that_is_killed_costs_nothing(run: Run[Any]) -> None:
    async def work() -> None:
        before = children()
        async with Step("step_functions:doubled") as step:
            assert await put_through(step, [b"2"]) == [b"4"]
            (worker,) = children() - before
            os.kill(worker, signal.SIGKILL)
            await until(lambda: step.counts.restarts == 1)
            assert await put_through(step, [b"4", b"6"]) == [b"8", b"12"]
            assert step.counts.poisonous == 0

    run(work())


def test_a_full_step_refuses_and_goes_on(run: Run[Any]) -> None:
    async def work() -> None:
        results: list[bytes | None] = []
        async with Step("spin:1", most_messages=20, most_bytes=1000) as step:
            for _ in range(20):
                assert step.submit(b"1", results.append)
            assert not step.submit(b"1", results.append)
            assert len(step) == 20
            await step.drain()
            assert step.submit(b"2" * 999, results.append)
            assert not step.submit(b"22", results.append)
            assert step.submit(b"3", results.append)
            await step.drain()
            assert (len(results), results[-1]) == (22, b"3")
            assert step.counts.refused == 2

    run(work())


def test_leaving_ends_a_step_that_does_not_end(run: Run[Any], tmp_path: Path) -> None:
    results: list[bytes | None] = []
    mark = tmp_path / "begun"

    async def work() -> None:
        async with Step("step_functions:waiting") as step:
            step.submit(f'"{mark}"'.encode(), results.append)
            step.submit(b'"never"', results.append)
            await until(lambda: mark.exists() and mark.read_text() != "")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await step.drain()
        assert len(step) == 0

    run(work())
    assert results == []


def test_what_a_step_prints_is_not_taken_for_its_result(
    run: Run[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    async def work() -> None:
        async with Step("step_functions:talking") as step:
            assert await put_through(step, [b"1"]) == [b'[1,""]']

    run(work())
    assert "nor this" in capfd.readouterr().err


def test_a_process_that_a_step_left_behind_holds_nothing_up(run: Run[Any]) -> None:
    async def work() -> None:
        async with Step("step_functions:forking") as step:
            assert await put_through(step, [b"8"]) == [None]
            assert step.counts.poisonous == 1

    run(work())


def test_results_that_cannot_be_sent_are_dropped(run: Run[Any]) -> None:
    async def work() -> None:
        async with Step("step_functions:shaped") as step:
            found = await put_through(step, [b'"large"', b'"object"', b'"fine"'])
            assert found == [None, None, b'{"a":[1,null]}']
            assert step.counts.failed == 2

    run(work())


def test_a_receiver_that_fails_stops_nobody_else(
    run: Run[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def fails(result: bytes | None) -> None:
        raise RuntimeError("on purpose")

    async def work() -> None:
        async with Step("spin:0") as step:
            step.submit(b"1", fails)
            assert await put_through(step, [b"2"]) == [b"2"]

    run(work())
    assert "on purpose" in caplog.text


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("nothing", "a step is spin:MS or module:function"),
        ("spin:", "a step is spin:MS"),
        ("spin:fast", "milliseconds"),
        ("spin:-1", "milliseconds"),
        ("spin:nan", "milliseconds"),
        ("no_such_module_here:f", "ModuleNotFoundError"),
        ("step_functions:absent", "has no function absent"),
        ("step_functions:not_a_function", "has no function"),
    ],
)
def test_a_step_that_cannot_be_loaded_says_why(
    spec: str, reason: str, run: Run[Any]
) -> None:
    async def work() -> None:
        with pytest.raises(StepStartError, match=reason):
            async with Step(spec):
                raise AssertionError("entered")

    run(work())


def test_cancelling_the_start_leaves_nothing_running(run: Run[Any]) -> None:
    async def work() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await Step("slow_step:any").__aenter__()

    run(work())


def test_a_worker_does_not_outlive_a_broker_that_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    with Process([sys.executable, "-c", ENDLESS, str(mark)]) as broker:
        wait_until(lambda: mark.exists() and mark.read_text() != "", 30)
        worker = int(mark.read_text())
        assert running(worker)
        broker.kill()
        wait_until(lambda: not running(worker), 30)


ENDLESS = """
import asyncio, sys
from brokerwise.runtime.broker.processing import Step

async def work():
    async with Step("step_functions:waiting") as step:
        step.submit(f'"{sys.argv[1]}"'.encode(), print)
        await step.drain()

asyncio.run(work())
"""


def running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
