"""Who does what: nothing is left out and nothing done twice."""

import asyncio
import sys
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auditing.naive import provisioned
from tests.auditing.overlay_cases import plans
from tests.runtime.load.faulty_broker import FaultyBroker, running
from tests.runtime.load.test_worker import run
from tests.runtime.load.test_worker import task as a_task
from tests.tiers import examples

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import ApprovedPlan
from brokerwise.runtime.fleet.seeds import overlay_seed, placement_seed
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.crew import (
    Crew,
    Result,
    Task,
    WorkerError,
    crew_of,
    tasks_of,
)
from brokerwise.runtime.load.traffic import Period, period_of
from brokerwise.runtime.process.reporting import ReportingProcess


@pytest.fixture
def period() -> Period:
    """Two brokers: world and half of sport, and the rest."""
    workload = Workload.from_pairs(
        topics=["world", "world", "sport", "sport", "sport"],
        subscribers=["u0", "u1", "u0", "u1", "u2"],
        rates={"world": 10, "sport": 4},
    )
    plan = provisioned(workload, threshold=14, capacity=34)
    return period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))


def shared(period: Period, workers: int) -> list[Task]:
    brokers = {b.name: f"ws://{b.name}" for b in period.seed.brokers}
    return tasks_of(
        period, workers, epoch=7, brokers=brokers, sign=lambda user: f"token {user}"
    )


def check(period: Period, tasks: list[Task]) -> None:
    """Sessions, messages and sources of all tasks are those of the period."""
    sessions = [
        (line.user, line.broker, line.topics)
        for task in tasks
        for line in task.lines
        if line.source != line.user or line.topics or period.seed.overlay
        if not line.source.startswith("replay/")
    ]
    planned = [(s.user, s.broker, s.topics) for s in period.seed.sessions]
    assert sorted(sessions) == sorted(planned)
    received = Counter[tuple[str, str]]()
    sources = Counter[tuple[str, str]]()
    for task in tasks:
        for speech in task.speeches:
            lines = [task.lines[number] for number in speech.lines]
            assert len({line.source for line in lines}) == 1
            sources[speech.topic, lines[0].source] += speech.count
            for line in lines:
                received[line.broker, speech.topic] += speech.count
    streams = {(topic, source): count for topic, source, count in tasks[0].streams}
    assert streams == sources
    if not period.seed.overlay:
        assert received == period.planned.received
    assert sum(task.expected for task in tasks) == period.planned.deliveries


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_a_placement_is_shared_out(period: Period, workers: int) -> None:
    tasks = shared(period, workers)
    assert len(tasks) == workers
    check(period, tasks)
    assert tasks[0].lines[0].token == f"token {tasks[0].lines[0].user}"


@settings(max_examples=examples(50))
@given(plans(), st.integers(1, 3))
def test_an_overlay_is_shared_out(
    case: tuple[Network, OverlayPlan], workers: int
) -> None:
    network, plan = case
    period = period_of(ApprovedPlan(plan, network, overlay_seed(plan, network)))
    tasks = shared(period, workers)
    check(period, tasks)
    for task in tasks:
        for speech in task.speeches:
            assert len(speech.lines) == 1  # a user's own


def test_a_subscriber_that_is_called_like_a_publisher_is_still_served() -> None:
    workload = Workload.from_pairs(
        topics=["a"], subscribers=["replay/0"], rates={"a": 3}
    )
    plan = provisioned(workload, threshold=3, capacity=6)
    period = period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))
    assert sum(task.expected for task in shared(period, 1)) == 3


def test_topics_of_one_broker_are_published_over_one_line() -> None:
    workload = Workload.from_pairs(
        topics=["a", "b"], subscribers=["u", "u"], rates={"a": 3, "b": 2}
    )
    plan = provisioned(workload, threshold=5, capacity=20)
    period = period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))
    (task,) = shared(period, 1)
    assert [speech.lines for speech in task.speeches] == [(1,), (1,)]
    assert len(task.lines) == 2


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_workers_do_their_tasks() -> None:
    async def replayed() -> list[Result]:
        async with running(FaultyBroker()) as url:
            todo = msgspec.structs.replace(a_task(), brokers={"b0": url})
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
        async with crew_of([a_task()], python("exit('no memory')")) as crew:
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
            todo = msgspec.structs.replace(a_task(), brokers={"b0": url})
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
        async with crew_of([a_task()], python("import time; time.sleep(60)")) as crew:
            seen.append(crew)

    run(stubborn())
    assert seen[0].members[0].process.exit_code == -9


def test_silence_is_noticed() -> None:
    async def quiet() -> bool:
        async with crew_of([a_task()], python("import sys; sys.stdin.read()")) as crew:
            return await crew.until(lambda: False, quiet=0.05)

    assert run(quiet()) is False
