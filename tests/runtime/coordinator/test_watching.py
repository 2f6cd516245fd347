"""Those who watch a fleet over HTTP: what they are told, and what they cost."""

import asyncio
from pathlib import Path

from tests.runtime.coordinator.balanced import beating
from tests.runtime.coordinator.fakes import (
    broker,
    plain_seed,
    run,
    running,
    until,
)
from tests.runtime.coordinator.seeds import COLOCATED, PLANNED
from tests.runtime.coordinator.test_watch_data import CHANNEL, PretendData
from tests.runtime.coordinator.watchers import watcher
from tests.runtime.coordinator.watching import move_ended, place


def test_who_begins_to_watch_hears_of_all_that_was_and_then_each_second(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with running(tmp_path, PLANNED) as fleet, broker("b0", fleet) as b0:
            watch = fleet.coordinator.watching.watch
            async with beating(fleet, b0, load_per_second=6.0):
                await until(lambda: watch.history()["loads"].get("b0"))
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

    run(work())


def test_a_tick_has_the_brokers_and_what_an_operator_asks_first(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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
                assert tick["mind"] == (await fleet.done("/status"))["balancer"]
                await seen.next("topics")

    run(work())


def test_what_happens_is_told_when_it_does_and_to_those_who_come_later(
    tmp_path: Path,
) -> None:
    async def work() -> None:
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

    run(work())


def test_moves_are_told_step_by_step_and_counted_when_done(tmp_path: Path) -> None:
    async def work() -> None:
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
            history = fleet.coordinator.watching.watch.history()
            assert [count for _, count in history["moves"]] == [1]

    run(work())


def test_topics_come_from_brokers_who_are_asked_only_while_somebody_watches(
    tmp_path: Path,
) -> None:
    counts = {"received": 5, "delivered": 5, "received_per_second": 2.0, "p50_ms": 9}

    async def work() -> None:
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
            passed = watching.watch.at + 1.5
            await until(lambda: watching.watch.at > passed)
            assert b0.asked.count("/load") == b1.asked.count("/load") == 1

    run(work())


def test_a_broker_that_does_not_answer_is_left_out(tmp_path: Path) -> None:
    async def work() -> None:
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

    run(work())


def test_the_data_cluster_is_asked_while_somebody_watches(tmp_path: Path) -> None:
    data = PretendData(CHANNEL)

    async def work() -> None:
        async with running(tmp_path, plain_seed(1), data=data) as fleet:
            assert not data.asked
            async with watcher(fleet) as seen:
                told = await seen.next("data")
                assert told["at"] > 1e9
                assert told["channels"][0]["results"] == 33
                assert told["datasets"][0]["records"] == 70

    run(work())
