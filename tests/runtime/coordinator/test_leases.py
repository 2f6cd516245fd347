"""Brokers that fall silent, freeze, leave, come back or never come."""

import logging
from pathlib import Path

import pytest
from tests.runtime.coordinator.fakes import (
    BROKER,
    TwoBrokers,
    broker,
    plain_seed,
    running,
    until,
)
from tests.runtime.coordinator.seeds import SHARED
from tests.runtime.coordinator.watching import place, where

from brokerwise.runtime.coordinator.leases import Leases


def sweep(leases: Leases, start: float, end: float) -> list[str]:
    """What the last of many sweeps, a quarter of a second apart, finds."""
    found: list[str] = []
    for quarter in range(int(start * 4), int(end * 4) + 1):
        found = leases.lapsed(quarter / 4)
    return found


def test_a_broker_that_is_not_heard_of_lapses_and_another_does_not() -> None:
    leases = Leases(lease_seconds=3)
    leases.renew("a", 0.0)
    leases.renew("b", 0.0)
    assert sweep(leases, 0, 2) == []
    leases.renew("b", 2.0)
    assert sweep(leases, 2, 3) == []
    assert sweep(leases, 3, 3.25) == ["a"]
    assert sweep(leases, 3.25, 5.25) == ["a", "b"]


def test_a_renewed_or_ended_lease_is_not_lapsed() -> None:
    leases = Leases(lease_seconds=3)
    leases.renew("a", 0.0)
    leases.renew("b", 0.0)
    assert sweep(leases, 0, 4) == ["a", "b"]
    leases.renew("a", 4.0)
    leases.end("b")
    leases.end("nobody")
    assert sweep(leases, 4, 7) == []


def test_after_the_coordinator_was_frozen_everyone_gets_a_new_lease() -> None:
    leases = Leases(lease_seconds=3)
    leases.renew("a", 0.0)
    assert sweep(leases, 0, 1) == []
    assert leases.lapsed(100.0) == []
    assert sweep(leases, 100, 103) == []
    assert sweep(leases, 103, 104) == ["a"]


async def test_a_broker_that_is_silent_is_lost_its_routes_and_sessions_go_on(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await b0.join(fleet, "news", "sport")
        await b1.join(fleet, "news")
        await place(fleet, "ann", "ben")
        assert sorted(where(fleet, "ann") + where(fleet, "ben")) == ["b0", "b1"]
        fleet.pass_time(2)
        await b1.beat(fleet)
        fleet.pass_time(2)
        assert (await fleet.broker("b0"))["state"] == "lost"
        assert where(fleet, "ann") == where(fleet, "ben") == ["b1"]
        await until(lambda: b1.members("news") == ["b1"])
        found = await fleet.done("/routes", {"topics": ["sport"]})
        (carrier,) = found["routes"][0]["brokers"]
        assert carrier["broker"] == "b1"
        assert found["routes"][0]["generation"] == 3


async def test_a_frozen_broker_that_wakes_is_told_that_it_is_lost_and_comes_back(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, plain_seed(1)) as fleet,
        broker("b0", fleet) as b0,
    ):
        await place(fleet, "ann")
        fleet.pass_time(4)
        assert (await b0.beat(fleet))["lost"] is True
        body = {"broker": "b0", "epoch": b0.epoch, "topics": ["news"]}
        assert (await fleet.call("/join", body, token=BROKER))[0] == 409
        assert (await fleet.call("/requestbroker", {"user": "ann"}))[0] == 503
        old = b0.epoch
        await b0.register(fleet)
        assert b0.epoch > old
        assert (await b0.beat(fleet))["lost"] is False
        await place(fleet, "ann")
        assert where(fleet, "ann") == ["b0"]


async def test_sessions_that_nobody_could_take_go_to_the_first_that_comes(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, plain_seed(2)) as fleet:
        async with broker("b0", fleet) as b0:
            await place(fleet, "ann")
            leaving = {"broker": "b0", "epoch": b0.epoch}
            assert await fleet.as_broker("/leaving", leaving) == {}
            assert await fleet.as_broker("/leaving", leaving) == {}
        async with broker("b1", fleet):
            assert where(fleet, "ann") == ["b1"]


async def test_a_broker_that_starts_again_at_once_keeps_its_sessions_but_no_routes(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await place(fleet, "ann", "ben", "cid", "dan")
        before = {user: where(fleet, user) for user in ("ann", "ben", "cid", "dan")}
        await b0.join(fleet, "news")
        await b1.join(fleet, "news")
        await b0.register(fleet)
        assert {user: where(fleet, user) for user in before} == before
        await until(lambda: b1.members("news") == ["b1"])


async def test_nobody_is_lost_until_one_lease_after_a_restart(tmp_path: Path) -> None:
    async with (
        running(tmp_path, plain_seed(1)) as fleet,
        broker("b0", fleet) as b0,
    ):
        assert (await fleet.broker("b0"))["state"] == "up"
    async with running(tmp_path) as fleet:
        fleet.pass_time(1.5)
        assert (await fleet.broker("b0"))["state"] == "up"
        assert (await b0.beat(fleet))["lost"] is False
        fleet.pass_time(4)
        assert (await fleet.broker("b0"))["state"] == "lost"


async def test_a_broker_that_cannot_be_told_is_told_when_it_is_heard_again(
    two_brokers: TwoBrokers,
) -> None:
    async with two_brokers() as (fleet, b0, b1):
        await b0.join(fleet, "news")
        b0.deaf = True
        joined = await b1.join(fleet, "news")
        assert joined["cursors"] == []
        assert b0.routes == {}
        asked = len(b0.asked)
        await b1.join(fleet, "news", "art")  # does not wait for b0 again
        assert len(b0.asked) == asked
        b0.deaf = False
        await b0.beat(fleet)
        await until(lambda: b0.members("news") == ["b0", "b1"])


async def test_a_broker_of_the_seed_that_never_comes_is_lost_at_last(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, SHARED) as fleet,
        broker("b1", fleet) as b1,
    ):
        assert (await fleet.call("/requestbroker", {"user": "ann"}))[0] == 503
        for _ in range(31):
            await b1.beat(fleet)
            fleet.pass_time(1)
        assert where(fleet, "ann") == ["b1"]
        await place(fleet, "ann")


async def test_a_lost_broker_its_refused_epoch_and_its_return_are_logged(
    two_brokers: TwoBrokers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "brokerwise.runtime.coordinator")
    async with two_brokers() as (fleet, b0, b1):
        await b0.join(fleet, "news")
        await place(fleet, "ann", "ben")
        fleet.pass_time(2)
        await b1.beat(fleet)
        fleet.pass_time(2)
        await b0.beat(fleet)
        old = b0.epoch
        await b0.register(fleet)
    said = [record.getMessage() for record in caplog.records]
    assert (
        f"broker 'b0' was lost: epoch {old} ended, 1 sessions placed elsewhere, "
        "0 wait for a broker, 1 topics lost a broker, 0 moves failed"
    ) in said
    fenced = f"broker 'b0' is told that it is lost: epoch {old} has been given up"
    assert fenced in said
    assert f"broker 'b0' is back: epoch {b0.epoch}, {b0.url}, up" in said
    assert "broker 'b0' joined 1 topics, generation up to 1: 'news'" in said
    assert any("'b1' is heard again after 2.0 s" in line for line in said)
