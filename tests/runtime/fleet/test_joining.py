"""When a broker that joined from another machine takes the fleet for over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from brokerwise.runtime.fleet import joining
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.joining import fleet_ended
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Connection, Server, serve

STATUS = b'{"brokers":[],"moves":{}}'


class Coordinator:
    """Answers with what there is, in turn, and the last of it for ever."""

    def __init__(self, *answers: HttpAnswer) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def opened(self, c: Connection) -> None: ...
    def received(self, c: Connection, text: bytes) -> None: ...
    def closed(self, c: Connection) -> None: ...
    def overflowed(self, c: Connection) -> None: ...


def elsewhere(port: int) -> FleetFile:
    url = f"http://127.0.0.1:{port}"
    return FleetFile(url, 1, 1, "ab", "op", "br", machine="far away")


@asynccontextmanager
async def served(coordinator: Coordinator) -> AsyncIterator[Server]:
    server = await serve(coordinator, host="127.0.0.1", port=0)
    try:
        yield server
    finally:
        await server.close()


async def test_it_is_over_when_its_coordinator_is_silent_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "SILENT_SECONDS", 3)
    monkeypatch.setattr(joining, "_ASK_SECONDS", 0.3)
    coordinator = Coordinator(HttpAnswer(200, STATUS))
    async with served(coordinator) as server:
        over = asyncio.create_task(fleet_ended(elsewhere(server.port)))
        while coordinator.asked < 3:
            await asyncio.sleep(0.01)
        assert not over.done()
    await over


async def test_it_is_over_when_another_fleet_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "_ASK_SECONDS", 0.3)
    refusal = HttpAnswer(401, b'{"error":"a valid token is needed"}')
    async with served(Coordinator(HttpAnswer(200, STATUS), refusal)) as server:
        await fleet_ended(elsewhere(server.port))


@pytest.mark.parametrize("machine", ["", "far away"])
def test_a_fleet_of_another_machine_runs_as_far_as_can_be_said(machine: str) -> None:
    fleet = FleetFile("http://h:1", 1, 1, "ab", "op", "br", machine=machine)
    assert fleet.running is fleet.is_elsewhere is (machine != "")
