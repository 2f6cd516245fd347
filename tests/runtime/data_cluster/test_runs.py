"""Channels run when they are due, with a clock and a Spark of the test's own; which
segments a run takes after others have failed."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from math import ceil, log2
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.data_cluster.channel_worlds import (
    NEAR,
    QUERY,
    REPORTS,
    SHELTERS,
    FakeRunner,
    Scheduled,
    World,
    make_world,
    play,
    scheduled,
    until,
)

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import channels, results, runs, schedule
from brokerwise.runtime.data_cluster.datasets import drop_dataset
from brokerwise.runtime.data_cluster.results import (
    write_results,
)
from brokerwise.runtime.data_cluster.runs import Pace, Recovery
from brokerwise.runtime.data_cluster.schedule import Scheduler
from brokerwise.runtime.data_cluster.spark import (
    ExecutorLostError,
    LimitError,
    RunError,
    SparkGoneError,
    SparkTroubleError,
    Work,
)
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery
from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError
from brokerwise.runtime.data_cluster.status import channel_status
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.net.errors import ConflictError
from brokerwise.runtime.protocol.data import Channel
from brokerwise.runtime.protocol.limits import SEGMENTS_PER_RUN


@given(
    count=st.integers(1, 1_200),
    poison=st.sets(st.integers(0, 1_199), max_size=6),
    passing=st.booleans(),
)
def test_all_but_the_poisoned_segments_are_covered_once_and_in_order(
    count: int, poison: set[int], passing: bool
) -> None:
    waiting = list(range(count))
    bad = poison & set(waiting)
    pace, covered, aside, runs = Pace(), [], [], 0
    trouble = passing  # the very first run fails, whatever it has
    while waiting:
        taken = list(pace.take(waiting))
        assert 0 < len(taken) <= SEGMENTS_PER_RUN
        runs += 1
        if trouble or bad & set(taken):
            trouble = False
            pace, recovery = pace.failed(len(taken))
            if recovery is Recovery.SET_ASIDE:
                aside.append(waiting.pop(0))
        else:
            covered += taken
            waiting = waiting[len(taken) :]
            pace = pace.succeeded(len(taken))
    assert aside == sorted(bad)
    assert covered == [n for n in range(count) if n not in bad]
    steps = ceil(log2(min(count, SEGMENTS_PER_RUN))) if count > 1 else 0
    least = ceil(count / SEGMENTS_PER_RUN)
    assert runs <= least + 2 + passing + len(bad) * (2 * steps + 4)


def test_a_run_that_fails_once_is_tried_again_with_the_same_segments() -> None:
    pace, recovery = Pace().failed(7)
    assert recovery is Recovery.AGAIN
    assert list(pace.take(range(20))) == list(range(7))
    pace, recovery = pace.failed(7)
    assert (recovery, pace.most) == (Recovery.HALVED, 3)


@pytest.mark.parametrize("failures", [0, 1])
def test_a_segment_alone_is_tried_twice(failures: int) -> None:
    _, recovery = Pace(1, failures, careful=True).failed(1)
    assert recovery is (Recovery.SET_ASIDE if failures else Recovery.AGAIN)


def test_what_succeeds_doubles_up_to_the_bound() -> None:
    pace, sizes = Pace(1, careful=True), []
    while pace.careful:
        pace = pace.succeeded(pace.most)
        sizes.append(pace.most)
    assert sizes == [2, 4, 8, 16, 32, 64, 128, 256, SEGMENTS_PER_RUN]


Task = asyncio.Task[None]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path)
    with made.store:
        yield made


def types(world: World, subscription: int) -> list[str]:
    return [result["type"] for result in world.log(subscription)]


def test_each_run_covers_what_came_since_the_last(world: World) -> None:
    world.create()
    fire = world.subscribe("near", "fire")
    world.subscribe("near", "flood")

    async def scene(on: Scheduled, running: Task) -> None:
        world.report("fire", "storm")
        world.report("fire")
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])
        world.report("fire")
        last = world.report("storm")
        await on.pass_time(10)
        await until(lambda: on.segment() == last, [running])
        assert on.told == [("near", 1_010.0, (fire,)), ("near", 1_020.0, (fire,))]

    play(world, FakeRunner(), scene)
    assert [result["cell"] for result in world.log(fire)] == [0, 0, 0]
    runs = channel_status(world.store.sql, "near").last_runs
    assert [(r.first_segment, r.last_segment) for r in runs] == [(3, 4), (1, 2)]


def test_without_news_or_subscriptions_no_run_is_made_and_the_cursor_moves_on(
    world: World,
) -> None:
    world.create()
    runner = FakeRunner()

    async def scene(on: Scheduled, running: Task) -> None:
        first = world.report("fire")
        await on.pass_time(10)
        await until(lambda: on.segment() == first, [running])
        number = world.subscribe("near", "fire")
        shelter = world.feed(SHELTERS, [{"name": "a", "cell": 1}])
        await on.pass_time(10)
        await until(lambda: on.segment() == shelter, [running])
        assert runner.works == []
        world.report("fire")
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])
        assert types(world, number) == ["fire"]

    play(world, runner, scene)


def test_many_segments_are_covered_in_several_runs_that_follow_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        runs, "Pace", lambda *given, **more: Pace(*given or (3,), **more)
    )
    world.create()
    number = world.subscribe("near", "fire")
    for _ in range(7):
        world.report("fire")
    runner = FakeRunner()

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.segment() == 7, [running])

    play(world, runner, scene)
    assert len(world.log(number)) == 7
    assert sum(len(work.new["reports"]) for work in runner.works) == 7
    assert len(runner.works) > 1
    assert channel_status(world.store.sql, "near").skipped == 0


def test_a_channel_that_overruns_skips_runs_says_so_and_goes_on(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.create()
    number = world.subscribe("near", "fire")
    runner = FakeRunner()

    async def scene(on: Scheduled, running: Task) -> None:
        world.report("fire")
        runner.held.clear()
        await on.pass_time(10)
        await asyncio.to_thread(runner.begun.acquire)
        world.report("fire")
        for _ in range(3):
            await on.pass_time(10)
            await asyncio.sleep(0)

        def skipped() -> int:
            return on.scheduler.status("near").skipped

        await until(lambda: skipped() == 3, [running])
        runner.held.set()
        await until(lambda: on.runs() == 1, [running])
        await on.pass_time(10)
        await until(lambda: on.runs() == 2, [running])
        assert skipped() == 3

    with caplog.at_level(logging.WARNING):
        play(world, runner, scene)
    assert types(world, number) == ["fire", "fire"]
    assert "channel 'near' is late: runs skipped: " in caplog.text


def test_at_most_two_channels_run_at_once(world: World) -> None:
    names = ["a", "b", "c"]
    runner = FakeRunner()
    for name in names:
        world.create(Channel(name, NEAR.sql, 10, NEAR.parameters))
        world.subscribe(name, "fire")

    async def scene(on: Scheduled, running: Task) -> None:
        world.report("fire")
        runner.held.clear()
        await on.pass_time(10)
        for _ in range(2):
            await asyncio.to_thread(runner.begun.acquire)
        assert not await asyncio.to_thread(runner.begun.acquire, True, 0.1)
        runner.held.set()
        await until(lambda: all(on.runs(name) == 1 for name in names), [running])

    play(world, runner, scene)


def test_a_poisoned_segment_is_set_aside_and_named_and_the_others_appear(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.create()
    healthy = Channel("healthy", NEAR.sql, 10, NEAR.parameters)
    world.create(healthy)
    number, other = world.subscribe("near", "fire"), world.subscribe("healthy", "fire")
    for n in range(12):
        world.report("fire", *(["poison"] if n == 7 else []))
    failing = FakeRunner({"poison": RunError("[DIVIDE_BY_ZERO] Division by zero.")})
    fine = FakeRunner()

    class Both(FakeRunner):
        def run(self, work: Work) -> pa.Table:
            runner = failing if work.channel.name == "near" else fine
            return runner.run(work)

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.segment() == 12, [running])
        await until(lambda: on.segment("healthy") == 12, [running])
        (aside,) = on.scheduler.status("near").set_aside
        assert (aside.segment, aside.dataset) == (8, "reports")
        assert aside.reason == "[DIVIDE_BY_ZERO] Division by zero."
        assert on.scheduler.status("healthy").set_aside == ()

    with caplog.at_level(logging.WARNING):
        play(world, Both(), scene)
    assert len(world.log(number)) == 11
    assert len(world.log(other)) == 12
    assert "channel 'near': segment 8 is set aside: [DIVIDE_BY_ZERO]" in caplog.text


@pytest.mark.parametrize(
    "error",
    [
        LimitError("rows", "it has more than 3 results"),
        LimitError("bytes", "its results have more than 3 bytes"),
        LimitError("seconds", "it takes longer than 3 s"),
    ],
    ids=lambda error: error.limit,
)
def test_a_run_over_a_limit_is_named(world: World, error: LimitError) -> None:
    world.create()
    world.subscribe("near", "fire")
    world.report("much")

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.segment() == 1, [running])
        (aside,) = on.scheduler.status("near").set_aside
        assert aside.reason == error.message

    play(world, FakeRunner({"much": error}), scene)


def test_trouble_with_machines_sets_nothing_aside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "FIRST_PAUSE", 0.0)
    world.create()
    number = world.subscribe("near", "fire")
    world.report("fire")
    runner = FakeRunner({"fire": SparkTroubleError("No space left on device")})

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: len(runner.works) >= 8, [running])
        runner.poison.clear()
        await until(lambda: on.runs() == 1, [running])

    play(world, runner, scene)
    assert types(world, number) == ["fire"]
    assert channel_status(world.store.sql, "near").set_aside == ()


def test_a_run_that_brings_down_executors_again_and_again_is_to_blame(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(runs, "LONGEST_PAUSE", 0.0)
    world.create()
    number = world.subscribe("near", "fire")
    world.report("deadly")
    world.report("fire")
    runner = FakeRunner({"deadly": ExecutorLostError("ExecutorLostFailure")})

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.segment() == 2, [running])

    play(world, runner, scene)
    assert types(world, number) == ["fire"]
    (aside,) = channel_status(world.store.sql, "near").set_aside
    assert aside.segment == 1


def test_spark_that_is_gone_ends_the_scheduler(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "WATCH_SECONDS", 0.01)
    runner = FakeRunner()

    async def scene(on: Scheduled, running: Task) -> None:
        await asyncio.sleep(0)
        runner.alive = False
        with pytest.raises(SparkGoneError, match="Spark has ended"):
            await running

    play(world, runner, scene)


def test_a_run_that_finds_spark_gone_ends_the_scheduler(world: World) -> None:
    world.create()
    world.subscribe("near", "fire")
    world.report("fire")

    async def scene(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        with pytest.raises(SparkGoneError):
            await running

    play(world, FakeRunner({"fire": SparkGoneError("Spark has ended")}), scene)
    assert channel_status(world.store.sql, "near").set_aside == ()


def test_spark_that_does_not_start_ends_the_scheduler(world: World) -> None:
    async def scene() -> None:
        spark: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        one = Scheduler(world.store, spark, world.keyed, lambda *_: None)
        running = asyncio.create_task(one.run())
        spark.set_exception(InputError("no Java"))
        with pytest.raises(InputError, match="no Java"):
            await running

    asyncio.run(scene())


class Crash(BaseException):
    """The process ends here."""


def test_a_crash_at_any_step_of_a_commit_loses_and_repeats_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the file is written, after it, before the transaction, in it, after."""
    world.create()
    number = world.subscribe("near", "fire")
    steps = ("before file", "after file", "in transaction", "after transaction")
    for expected, step in enumerate(steps, start=1):
        world.report("fire")
        crash_at(monkeypatch, step)

        async def crashes(on: Scheduled, running: Task) -> None:
            await on.pass_time(10)
            with pytest.raises(Crash):
                await running

        play(world, FakeRunner(), crashes)
        monkeypatch.undo()
        world = reopened(world)
        runner = FakeRunner()

        async def goes_on(on: Scheduled, running: Task, runs: int = expected) -> None:
            await on.pass_time(10)
            await until(lambda: on.runs() == runs and on.segment() == runs, [running])

        play(world, runner, goes_on)
        assert len(runner.works) == (0 if step == "after transaction" else 1)
        assert len(world.log(number)) == expected
    files = list((world.store.directory / "results").iterdir())
    assert len(files) == len(steps)
    world.store.close()


def crash_at(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def crash(*_: object) -> None:
        raise Crash(step)

    write, commit = write_results, results.commit_run

    def write_then_crash(*arguments: Any) -> None:
        write(*arguments)
        raise Crash(step)

    def commit_then_crash(*arguments: Any) -> None:
        commit(*arguments)
        raise Crash(step)

    if step == "before file":
        monkeypatch.setattr(runs, "write_results", crash)
    elif step == "after file":
        monkeypatch.setattr(runs, "write_results", write_then_crash)
    elif step == "in transaction":
        monkeypatch.setattr(results, "_insert_results", crash)
    else:
        monkeypatch.setattr(runs, "commit_run", commit_then_crash)


def reopened(world: World) -> World:
    """As a new process finds it."""
    world.store.close()
    again = World(DataStore(world.store.directory), world.now)
    again.store.remove_leftovers()
    return again


def test_a_channel_whose_sql_no_longer_passes_is_suspended_and_the_others_go_on(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.create()
    world.create(Channel("bad", "SELECT reflect('a')", 10, NEAR.parameters))
    number = world.subscribe("near", "fire")
    world.subscribe("bad", "fire")
    asked: list[str] = []

    def check(_: object, channel: Channel, datasets: object) -> CheckedQuery:
        asked.append(channel.name)
        if channel.name == "bad":
            raise RefusedQueryError("reflect is not allowed", channel.sql, 7)
        if asked.count("near") == 1:
            raise RefusedQueryError("it could not be checked in 20 s")
        return QUERY

    async def scene(on: Scheduled, running: Task) -> None:
        world.report("fire")
        for count in range(1, 4):
            world.report("fire")
            await on.pass_time(10)
            await until(lambda n=count: on.runs() >= n, [running])  # type: ignore[misc]
        shown = on.scheduler.status("bad")
        assert shown.suspended.splitlines() == [
            "line 1, column 8: reflect is not allowed",
            "SELECT reflect('a')",
            "       ^",
        ]
        assert (shown.runs, shown.skipped) == (0, 0)
        assert on.scheduler.status("near").columns == QUERY.columns

    play(world, FakeRunner(), scene, check=check)
    assert len(world.log(number)) == 4
    assert asked == ["bad", "near", "near"]
    assert "channel 'bad' is suspended: line 1, column 8: reflect is" in caplog.text


def test_a_channel_is_checked_when_it_is_made_and_then_runs(world: World) -> None:
    asked: list[str] = []

    def check(_: object, channel: Channel, datasets: object) -> CheckedQuery:
        asked.append(channel.name)
        return QUERY

    async def scene(on: Scheduled, running: Task) -> None:
        assert await on.scheduler.create(NEAR) is QUERY
        with pytest.raises(ConflictError):
            await on.scheduler.create(NEAR)
        number = world.subscribe("near", "fire")
        world.report("fire")
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])
        assert types(world, number) == ["fire"]

    play(world, FakeRunner(), scene, check=check)
    assert asked == ["near"]


def test_without_channels_spark_is_warmed(world: World) -> None:
    warmed = threading.Event()

    async def scene(on: Scheduled, running: Task) -> None:
        await until(warmed.is_set, [running])

    play(world, FakeRunner(), scene, warm_up=lambda *_: warmed.set())


def test_a_channel_that_is_refused_is_not_stored(world: World) -> None:
    def check(*_: object) -> CheckedQuery:
        raise InputError("no")

    async def scene(on: Scheduled, running: Task) -> None:
        with pytest.raises(InputError, match="no"):
            await on.scheduler.create(NEAR)

    play(world, FakeRunner(), scene, check=check)
    assert channels.all_channels(world.store.sql) == []


def test_a_dataset_that_is_dropped_during_the_check_is_noticed(world: World) -> None:
    checking, dropped = threading.Event(), threading.Event()

    def check(*_: object) -> CheckedQuery:
        checking.set()
        assert dropped.wait(20)
        return QUERY

    async def scene(on: Scheduled, running: Task) -> None:
        creating = asyncio.create_task(on.scheduler.create(NEAR))
        await asyncio.to_thread(checking.wait)
        with world.store.change() as sql:
            drop_dataset(sql, REPORTS.name)
        dropped.set()
        with pytest.raises(ConflictError, match="was dropped just now"):
            await creating

    play(world, FakeRunner(), scene, check=check)


def test_a_channel_that_is_dropped_in_the_middle_of_a_run_leaves_nothing(
    world: World,
) -> None:
    world.create()
    world.subscribe("near", "fire")
    runner = FakeRunner()

    async def scene(on: Scheduled, running: Task) -> None:
        world.report("fire")
        runner.held.clear()
        await on.pass_time(10)
        await asyncio.to_thread(runner.begun.acquire)
        assert on.scheduler.drop("near") == ()
        runner.held.set()
        await on.scheduler.create(NEAR)
        number = world.subscribe("near", "fire")
        world.report("fire", "fire")
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])
        assert len(world.log(number)) == 2
        assert on.told == [("near", 1_020.0, (number,))]

    play(world, runner, scene)
    assert len(list((world.store.directory / "results").iterdir())) == 1


def test_after_a_restart_what_was_missed_is_run_at_once(world: World) -> None:
    world.create()
    number = world.subscribe("near", "fire")
    world.report("fire")
    world.now += 1_003.0

    async def scene(on: Scheduled, running: Task) -> None:
        await until(lambda: on.runs() == 1, [running])

    play(world, FakeRunner(), scene)
    assert types(world, number) == ["fire"]
    assert channel_status(world.store.sql, "near").skipped == 0


def test_a_channel_can_wait_for_spark(world: World) -> None:
    async def scene() -> None:
        on = scheduled(world, lambda _: FakeRunner())
        spark: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        one = Scheduler(
            world.store,
            spark,
            world.keyed,
            lambda *news: on.told.append(news),
            wall=world.wall,
            make_runner=lambda _: FakeRunner(),
            check=lambda *_: QUERY,
            warm_up=lambda *_: None,
        )
        running = asyncio.create_task(one.run())
        creating = asyncio.create_task(one.create(NEAR))
        await asyncio.sleep(0)
        assert not creating.done()
        spark.set_result(None)
        assert await creating is QUERY
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scene())


def test_a_segment_that_no_process_survives_is_set_aside(world: World) -> None:
    world.create()
    fire = world.subscribe("near", "fire")
    for kind in ("fire", "bomb", "fire", "fire"):
        world.report(kind)
    deaths = 0

    async def die(on: Scheduled, running: Task) -> None:
        nonlocal deaths
        await on.pass_time(10)
        waiting = asyncio.create_task(until(lambda: on.segment() == 4, [running]))
        await asyncio.wait([running, waiting], return_when="FIRST_COMPLETED")
        waiting.cancel()
        if running.done():
            deaths += 1
            with pytest.raises(SparkGoneError):
                await running

    while channels.state_of(world.store.sql, "near").segment < 4:
        assert deaths < 20
        play(world, FakeRunner({"bomb": SparkGoneError("Spark has ended")}), die)
        world.now += 100.0
    assert types(world, fire) == ["fire"] * 3
    (aside,) = channel_status(world.store.sql, "near").set_aside
    assert aside.segment == 2 and "died in its run, 3 times" in aside.reason
    assert deaths <= 10


def test_a_process_that_is_killed_in_a_run_once_or_twice_sets_nothing_aside(
    world: World,
) -> None:
    world.create()
    fire = world.subscribe("near", "fire")
    world.report("fire")

    async def die(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        with pytest.raises(SparkGoneError):
            await running

    async def live(on: Scheduled, running: Task) -> None:
        await on.pass_time(10)
        await until(lambda: on.runs() == 1, [running])

    for _ in range(2):
        play(world, FakeRunner({"fire": SparkGoneError("Spark has ended")}), die)
    play(world, FakeRunner(), live)
    assert types(world, fire) == ["fire"]
    assert channel_status(world.store.sql, "near").set_aside == ()
    assert world.store.sql.execute("SELECT * FROM attempts").fetchall() == []
