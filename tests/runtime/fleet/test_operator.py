"""Drain and rolling restart against a coordinator that only remembers."""

from collections.abc import Iterator

import msgspec
import pytest

from brokerwise.runtime.fleet.operator import (
    Operator,
    StalledError,
    UnknownBrokerError,
    drain_broker,
    rolling_restart,
)
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.protocol.fleet import BrokerState, BrokerStatus, FleetStatus


def broker(name: str, sessions: int = 4, state: str = "up") -> BrokerStatus:
    return BrokerStatus(
        name, f"ws://h/{name}", BrokerState(state), 1, sessions, 1, 0, 0, 0.0
    )


class Remembering(Operator):
    """Answers as a coordinator would whose brokers take a few looks to empty, to end
    and to come back. `stuck` is a broker that does not come back."""

    def __init__(self, *brokers: BrokerStatus, stuck: str = "") -> None:
        self.brokers = {b.broker: b for b in brokers}
        self.stuck = stuck
        self.moving = 0
        self.calls: list[str] = []
        self.broken = 0
        self._script: Iterator[None] = iter(())

    async def status(self) -> FleetStatus:
        next(self._script, None)
        if self.broken:
            self.broken -= 1
            raise UnreachableError("http://h", "refused")
        return FleetStatus(tuple(self.brokers.values()), {"requested": self.moving})

    async def drain(self, broker: str, then: str = "stay") -> int:
        down = [b.broker for b in self.brokers.values() if b.state != "up"]
        assert down == [], "one at a time"
        assert self.moving == 0, "moves are still under way"
        self.calls.append(f"drain {broker} {then}")
        self._script = self._empty(broker, then)
        return self.brokers[broker].sessions

    async def activate(self, broker: str) -> None:
        self.calls.append(f"activate {broker}")
        self._change(broker, state=BrokerState.UP)

    def _empty(self, name: str, then: str) -> Iterator[None]:
        self._change(name, state=BrokerState.DRAINING)
        for left in range(self.brokers[name].sessions - 1, -1, -1):
            self._change(name, sessions=left)
            yield
        self._change(name, state=BrokerState.DRAINED)
        yield
        if then == "stay" or self.stuck == name:
            return
        self._change(name, state=BrokerState.LOST)
        yield
        if then == "restart":
            self._change(name, state=BrokerState.UP, epoch=self.brokers[name].epoch + 1)
            self.moving = 2
            self.broken = 1
            yield
            yield
            self.moving = 0

    def _change(self, name: str, **changes: object) -> None:
        self.brokers[name] = msgspec.structs.replace(self.brokers[name], **changes)


def ignored(line: str) -> None:
    """Progress that no test looks at."""


async def test_brokers_are_restarted_one_by_one_when_moves_are_done() -> None:
    fleet = Remembering(broker("b0"), broker("b1", 2), broker("b2", 0))
    said: list[str] = []
    moves = await rolling_restart(fleet, tell=said.append)
    assert moves == {"b0": 4, "b1": 2, "b2": 0}
    assert fleet.calls == [f"drain {b} restart" for b in ("b0", "b1", "b2")]
    assert said == [
        "1/3 b0: 4 sessions to move",
        "1/3 b0: up again",
        "2/3 b1: 2 sessions to move",
        "2/3 b1: up again",
        "3/3 b2: 0 sessions to move",
        "3/3 b2: up again",
    ]


async def test_only_those_that_were_named_are_restarted_in_that_order() -> None:
    fleet = Remembering(broker("b0"), broker("b1"), broker("b2", state="up"))
    assert list(await rolling_restart(fleet, ["b2", "b0"], tell=ignored)) == [
        "b2",
        "b0",
    ]


async def test_a_broker_that_is_lost_already_is_left_out() -> None:
    fleet = Remembering(broker("b0"), broker("b1"))
    lost = Remembering(broker("b0"), broker("gone", state="lost"))
    assert list(await rolling_restart(fleet, tell=ignored)) == ["b0", "b1"]
    with pytest.raises(UnknownBrokerError, match="'gone' is lost"):
        await rolling_restart(lost, ["b0", "gone"], tell=ignored)
    assert lost.calls == []


async def test_a_name_that_the_fleet_does_not_have_is_refused_at_once() -> None:
    fleet = Remembering(broker("b0"))
    with pytest.raises(UnknownBrokerError, match="'b9' is not one") as caught:
        await rolling_restart(fleet, ["b0", "b9"], tell=ignored)
    assert caught.value.hint == "Brokers up: b0"
    assert fleet.calls == []


async def test_a_broker_that_does_not_come_back_is_told_of() -> None:
    fleet = Remembering(broker("b0"), broker("b1"), stuck="b0")
    with pytest.raises(StalledError, match="'b0' to come back"):
        await rolling_restart(fleet, tell=ignored, stall_seconds=0.3)
    assert fleet.calls == ["drain b0 restart"]


async def test_a_drain_is_over_when_the_broker_is_empty() -> None:
    fleet = Remembering(broker("b0"), broker("b1"))
    said: list[str] = []
    assert await drain_broker(fleet, "b0", stop=False, tell=said.append) == 4
    assert fleet.brokers["b0"].state == "drained"
    assert said == ["b0: 4 sessions to move", "b0: drained"]


async def test_a_drain_that_stops_is_over_when_the_broker_has_gone() -> None:
    fleet = Remembering(broker("b0", 1), broker("b1"))
    said: list[str] = []
    assert await drain_broker(fleet, "b0", stop=True, tell=said.append) == 1
    assert fleet.calls == ["drain b0 stop"]
    assert said == ["b0: 1 session to move", "b0: stopped"]


async def test_a_broker_that_is_not_there_cannot_be_drained() -> None:
    with pytest.raises(UnknownBrokerError):
        await drain_broker(Remembering(broker("b0")), "b1", stop=False, tell=ignored)
