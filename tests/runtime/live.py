"""A real fleet for tests that look at it from outside: processes, ports, tokens."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokerwise.runtime.fleet.supervisor import running_fleet
from brokerwise.runtime.protocol.seed import Seed

START_SECONDS = 60.0


@dataclass(frozen=True)
class LiveFleet:
    """`coordinator` is its URL."""

    coordinator: str
    operator_token: str
    broker_token: str

    def token(self, user: str) -> str:
        """A user's, registered now."""
        answer = self.ask("/registeruser", self.operator_token, {"user": user})
        return str(answer["token"])

    def broker(self, user: str, token: str) -> str:
        """The URL of the broker that serves a user."""
        answer = self.ask("/requestbroker", token, {"user": user})
        return str(answer["sessions"][0]["url"])

    def publish(self, url: str, topic: str, seq: int, data: object) -> None:
        """A message of bob, over HTTP."""
        body = {"topic": topic, "epoch": 7, "seq": seq, "data": data}
        answer = request(f"{http(url)}/publish", self.token("bob"), body)
        assert answer == {"accepted": True}

    def session(self, url: str, user: str) -> Any:
        """What a broker says of a user's session; None without one."""
        return request(f"{http(url)}/sessions", self.broker_token).get(user)

    def ask(self, path: str, token: str, body: object) -> Any:
        return request(f"{self.coordinator}{path}", token, body)


def http(url: str) -> str:
    """A broker's pages are where its sessions are."""
    return "http" + url.removeprefix("ws")


def request(url: str, token: str, body: object = None) -> Any:
    """What anybody's HTTP client would do: POST if there is a body."""
    content = None if body is None else json.dumps(body).encode()
    return json.loads(page_text(url, token, content))


def page_text(url: str, token: str, content: bytes | None = None) -> str:
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    asked = urllib.request.Request(url, content, head)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return str(answer.read().decode())


@contextmanager
def live_fleet(seed: Seed, state: Path) -> Iterator[LiveFleet]:
    """A fleet that runs beside the test, in a thread of its own."""
    ready = threading.Event()
    found: list[LiveFleet] = []
    loop = asyncio.new_event_loop()
    leave = asyncio.Event()

    async def run() -> None:
        async with running_fleet(seed, state=state) as fleet:
            file = fleet.file
            tokens = file.operator_token, file.broker_token
            found.append(LiveFleet(file.coordinator, *tokens))
            ready.set()
            await leave.wait()

    def work() -> None:
        try:
            loop.run_until_complete(run())
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(START_SECONDS) and found, "the fleet did not come up"
        yield found[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.set)
        thread.join()
