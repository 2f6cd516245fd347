"""Who may watch, how many, and how they hold nobody up."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.runtime.coordinator.fakes import (
    BROKER,
    plain_seed,
    run,
    running,
    token,
    until,
)
from tests.runtime.coordinator.watchers import watcher

from brokerwise.runtime.coordinator.watch_lines import line
from brokerwise.runtime.coordinator.watching import MAX_WATCHERS


def test_only_operators_watch(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet:
            for bad, status in (("", 401), (token("ann"), 403), (BROKER, 403)):
                async with watcher(fleet, bad) as seen:
                    assert seen.status == status
            assert not fleet.coordinator.watching.boxes

    run(work())


def test_there_is_room_for_so_many_watchers_and_again_when_one_goes(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet, AsyncExitStack() as crowd:
            for _ in range(MAX_WATCHERS - 1):
                await crowd.enter_async_context(watcher(fleet))
            async with watcher(fleet) as last:
                assert last.status == 200
                status, content = await fleet.call("/watch")
                assert (status, content) == (
                    *(503,),
                    {"error": "50 are watching already"},
                )
            watching = fleet.coordinator.watching
            await until(lambda: len(watching.boxes) == MAX_WATCHERS - 1)
            async with watcher(fleet) as again:
                assert (await again.next())["kind"] == "hello"
        assert not watching.boxes

    run(work())


def test_who_does_not_read_is_told_less_and_holds_nobody_up(tmp_path: Path) -> None:
    """What the connection takes is filled at once; then lines take others' places."""
    many = 12

    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            watcher(fleet, limit=1) as slow,
            watcher(fleet) as quick,
        ):
            tell = fleet.coordinator.watching.tell
            for number in range(many):
                content = {"number": number, "text": "x" * (4 << 20)}
                tell("data", line("data", content))
                assert (await quick.next("data"))["number"] == number
            came = [(await slow.next("data"))["number"]]
            while came[-1] < many - 1:
                came.append((await slow.next("data"))["number"])
            assert came == sorted(came)
            assert len(came) < many / 2
            assert (await slow.next("tick"))["at"] > 0

    run(work())


def test_when_the_coordinator_ends_so_does_what_is_told(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncExitStack() as stack:
            async with running(tmp_path, plain_seed(1)) as fleet:
                seen = await stack.enter_async_context(watcher(fleet))
            await seen.ended()  # an answer that the server cuts off has no end

    run(work())


def test_a_line_is_made_once_for_all_watchers(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            running(tmp_path, plain_seed(1)) as fleet,
            watcher(fleet) as first,
            watcher(fleet) as second,
        ):
            found: list[Any] = [await seen.next("tick") for seen in (first, second)]
            while found[0]["at"] < found[1]["at"]:
                found[0] = await first.next("tick")
            while found[1]["at"] < found[0]["at"]:
                found[1] = await second.next("tick")
            assert found[0] == found[1]

    run(work())
