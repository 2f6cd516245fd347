"""Those who watch a fleet over HTTP: what they are told, and what they cost."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runtime.coordinator.balance.fleet import beating
from tests.runtime.coordinator.fakes import (
    BROKER,
    broker,
    plain_seed,
    running,
    token,
    until,
)
from tests.runtime.coordinator.seeds import COLOCATED, PLANNED, States
from tests.runtime.coordinator.watch.test_polling import CHANNEL, PretendData
from tests.runtime.coordinator.watchers import watcher
from tests.runtime.coordinator.watching import move_ended, place

from brokerwise.runtime.coordinator import moves
from brokerwise.runtime.coordinator.watch.server import (
    MAX_WATCHERS,
    MOVES_SHOWN,
    MoveChanges,
)
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import MoveState


async def test_who_begins_to_watch_hears_of_all_that_was_and_then_each_second(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, PLANNED) as fleet, broker("b0", fleet) as b0:
        watch = fleet.coordinator.watching.memory
        async with beating(fleet, b0, load_per_second=6.0):
            await until(lambda: watch.history().loads.get("b0"))
        async with watcher(fleet) as seen:
            assert seen.status == 200
            assert seen.headers[b"content-type"] == b"application/x-ndjson"
            hello = await seen.next()
            assert hello["kind"] == "hello"
            assert hello["every_seconds"] == 1
            about = hello["fleet"]
            assert about.pop("started") <= hello["history"]["at"][0]
            assert about == {
                **{"plan": "out/plan", "plan_kind": "provision", "digest": "abc"},
                **{"placement": "plan", "period_seconds": 60, "brokers": 2},
            }
            assert hello["history"]["loads"]["b0"][-1] == 6.0
            began = await seen.next()
            assert (began["kind"], began["what"]) == ("event", "coordinator up")
            first, second = await seen.next("tick"), await seen.next("tick")
            assert 0.9 < second["at"] - first["at"] < 10
            assert first["at"] >= hello["history"]["at"][-1]
            await seen.next("topics")


async def test_a_tick_has_the_brokers_and_what_an_operator_asks_first(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, PLANNED) as fleet, broker("b0", fleet) as b0:
        report = {"load_per_second": 6.0, "received": 10, "delivered": 20}
        async with beating(fleet, b0, **report), watcher(fleet) as seen:
            tick = await seen.next("tick")
            while not tick["max_load"]:
                tick = await seen.next("tick")
            up, lost = tick["brokers"]
            assert up.pop("since") == (await fleet.broker("b0"))["since"]
            assert up == {
                **{"name": "b0", "state": "up", "sessions": 1, "topics": 2},
                **{"load": 6.0, "capacity": 8.333, "received": 10},
                "delivered": 20,
            }
            assert (lost["state"], lost["load"]) == ("lost", 0.0)
            shared = [tick[name] for name in ("max_load", "mean_load", "cov")]
            assert shared == [6.0, 6.0, 0.0]
            assert (tick["sessions"], tick["p90_ms"]) == (1, None)
            assert (tick["moved"], tick["last_move"]) == ([], None)
            assert set(tick["moves"].values()) == {0}
            assert (tick["mode"], tick["paused"]) == ("manual", False)
            assert tick["balancer_status"] == (await fleet.done("/status"))["balancer"]
            await seen.next("topics")


async def test_what_happens_is_told_when_it_does_and_to_those_who_come_later(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, plain_seed(2)) as fleet:
        async with watcher(fleet) as seen, broker("b0", fleet):
            await seen.next("tick")
            assert (await seen.next("event"))["text"] == "Broker b0 is up."
            fleet.pass_time(4)
            assert (await seen.next("event"))["text"] == "Broker b0 is lost."
        async with watcher(fleet) as late:
            events = [await late.next("event") for _ in range(3)]
            assert [event["what"] for event in events] == [
                *("coordinator up", "broker up", "broker lost")
            ]


async def test_moves_are_told_step_by_step_and_counted_when_done(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, plain_seed(2)) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
        beating(fleet, b0, b1),
        watcher(fleet) as seen,
    ):
        await place(fleet, "ann")
        hold = b1.hold["connect"] = asyncio.Event()
        move = {"user": "ann", "from": "b1", "to": "b0"}
        await fleet.done("/moves", move)
        tick = await seen.next("tick")
        while not tick["moved"]:
            tick = await seen.next("tick")
        assert tick["moved"][0].items() >= move.items()
        hold.set()
        assert (await move_ended(fleet))["state"] == "done"
        while [m["state"] for m in tick["moved"]] != ["done"]:
            tick = await seen.next("tick")
        assert tick["moves"]["done"] == 1
        assert abs(tick["last_move"] - tick["at"]) < 5
        history = fleet.coordinator.watching.memory.history()
        assert [count for _, count in history.moves] == [1]


async def test_topics_come_from_brokers_who_are_asked_only_while_somebody_watches(
    tmp_path: Path,
) -> None:
    counts = {"received": 5, "delivered": 5, "received_per_second": 2.0, "p50_ms": 9}

    async with (
        running(tmp_path, COLOCATED) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
    ):
        b0.loads = {"news": {**counts, "p90_ms": 300.0}}
        b1.loads = {"sport": {**counts, "p90_ms": 20.0}}
        await b0.join(fleet, "news")
        assert "/load" not in [*b0.asked, *b1.asked]
        async with watcher(fleet) as seen:
            topics = await seen.next("topics")
            assert (topics["count"], topics["carried"], topics["late"]) == (3, 1, 1)
            late, fine = topics["topics"]
            assert late == {
                **{"topic": "news", "broker": "b0", "received_per_second": 2.0},
                **{"p50_ms": 9.0, "p90_ms": 300.0, "target_ms": 250.0},
                "met": False,
            }
            assert (fine["topic"], fine["met"]) == ("sport", True)
            assert (await seen.next("tick"))["p90_ms"] == 300.0
        watching = fleet.coordinator.watching
        await until(lambda: not watching.boxes)
        fleet.clock.added += 60
        passed = watching.memory.at + 1.5
        await until(lambda: watching.memory.at > passed)
        assert b0.asked.count("/load") == b1.asked.count("/load") == 1


async def test_a_broker_that_does_not_answer_is_left_out(tmp_path: Path) -> None:
    async with (
        running(tmp_path, plain_seed(2)) as fleet,
        broker("b0", fleet) as b0,
        broker("b1", fleet) as b1,
    ):
        b0.refusing = True
        b1.loads = {"news": {"delivered": 1, "p90_ms": 4.0}}
        async with watcher(fleet) as seen:
            topics = await seen.next("topics")
            assert [row["broker"] for row in topics["topics"]] == ["b1"]
        shown = await fleet.done("/watch/broker/b0")
        assert "not today" in shown["problem"]
        assert (shown["state"], shown["topics"]) == ("up", [])


async def test_the_data_cluster_is_asked_while_somebody_watches(tmp_path: Path) -> None:
    data = PretendData(CHANNEL)

    async with running(tmp_path, plain_seed(1), data=data) as fleet:
        assert not data.asked
        async with watcher(fleet) as seen:
            told = await seen.next("data")
            assert told["at"] > 1e9
            assert told["channels"][0]["results"] == 33
            assert told["datasets"][0]["records"] == 70


async def test_only_operators_watch(tmp_path: Path) -> None:
    async with running(tmp_path, plain_seed(1)) as fleet:
        for bad, status in (("", 401), (token("ann"), 403), (BROKER, 403)):
            async with watcher(fleet, bad) as seen:
                assert seen.status == status
        assert not fleet.coordinator.watching.boxes


async def test_there_is_room_for_so_many_watchers_and_again_when_one_goes(
    tmp_path: Path,
) -> None:
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


async def test_who_does_not_read_is_told_less_and_holds_nobody_up(
    tmp_path: Path,
) -> None:
    """What the connection takes is filled at once; then lines take others' places."""
    many = 12

    async with (
        running(tmp_path, plain_seed(1)) as fleet,
        watcher(fleet, limit=1) as slow,
        watcher(fleet) as quick,
    ):
        tell = fleet.coordinator.watching.publish
        for number in range(many):
            content = {"number": number, "text": "x" * (4 << 20)}
            tell("data", msgspec.json.encode({"kind": "data", **content}) + b"\n")
            assert (await quick.next("data"))["number"] == number
        came = [(await slow.next("data"))["number"]]
        while came[-1] < many - 1:
            came.append((await slow.next("data"))["number"])
        assert came == sorted(came)
        assert len(came) < many / 2
        assert (await slow.next("tick"))["at"] > 0


async def test_when_the_coordinator_ends_so_does_what_is_told(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        async with running(tmp_path, plain_seed(1)) as fleet:
            seen = await stack.enter_async_context(watcher(fleet))
        await seen.ended()  # an answer that the server cuts off has no end


async def test_a_line_is_made_once_for_all_watchers(tmp_path: Path) -> None:
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


@pytest.fixture
def sql(states: States) -> Sql:
    return states(plain_seed(2))


def request(sql: Sql, user: str = "ann") -> moves.Move:
    return moves.request_move(sql, user, "b0", "b1")


def look(seen: MoveChanges) -> list[tuple[int, MoveState]]:
    return [(move.id, move.state) for move in seen.take()]


def test_what_was_there_before_is_no_news(sql: Sql) -> None:
    request(sql)
    assert look(MoveChanges(sql)) == []


def test_a_move_is_seen_at_each_of_its_steps_once(sql: Sql) -> None:
    seen = MoveChanges(sql)
    move = request(sql)
    assert look(seen) == [(1, MoveState.REQUESTED)]
    assert look(seen) == []
    agreed = moves.take_answer(sql, move, "accepted")
    assert look(seen) == [(1, MoveState.ACCEPTED)]
    assert look(seen) == []
    assert agreed is not None
    moves.take_answer(sql, agreed, "moved")
    assert look(seen) == [], "it has not been noticed yet"
    seen.add_ended(moves.notice_ended(sql, 5.0))
    assert look(seen) == [(1, MoveState.DONE)]
    assert look(seen) == []


def test_one_that_is_over_between_two_looks_is_seen_as_that_only(sql: Sql) -> None:
    seen = MoveChanges(sql)
    moves.take_answer(sql, request(sql), "declined")
    assert look(seen) == []
    seen.add_ended(moves.notice_ended(sql, 5.0))
    assert look(seen) == [(1, MoveState.DECLINED)]


def test_of_very_many_the_newest_are_shown_newest_first(sql: Sql) -> None:
    seen = MoveChanges(sql)
    for number in range(3 * MOVES_SHOWN):
        moves.take_answer(sql, request(sql, f"u{number}"), "absent")
    for number in range(10):
        request(sql, f"v{number}")
    seen.add_ended(moves.notice_ended(sql, 5.0))
    found = look(seen)
    last = 3 * MOVES_SHOWN + 10
    assert [number for number, _ in found] == list(range(last, last - MOVES_SHOWN, -1))
    assert [state for _, state in found[:11]] == [
        *([MoveState.REQUESTED] * 10),
        MoveState.DONE,
    ]
