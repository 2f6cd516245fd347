"""A fleet at work, in a thread of its own, that tests may do anything to."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any, TypeVar

from brokerwise.runtime.net.http import HttpAnswer, request
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.protocol.tokens import Keys, Role

from .guests import Guest, guest, visitor
from .load import Load, loaded_fleet, until

T = TypeVar("T")
RUN_SECONDS = 60.0
BROKER = "b0"  # the one that has to bear it


class Besieged:
    """Subscribers and publishers who behave, and the broker that guests come to.

    `pids` are those of all brokers, as they were at the start.
    """

    def __init__(self, load: Load, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.load = load
        self.url = url
        self.pids = load.fleet.pids
        self.file = load.fleet.file
        self.keys = Keys.of_secret(bytes.fromhex(self.file.secret))
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something to the fleet, from the thread of the test."""
        bounded = asyncio.wait_for(work, RUN_SECONDS)
        return asyncio.run_coroutine_threadsafe(bounded, self._loop).result()

    def survives(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something to the fleet. Meanwhile and afterwards those who behave have
        got everything, once and in order; the processes are those that there were;
        and none of them has noted an error."""
        self.run(work)
        self.run(self._unharmed())

    def token(self, user: str) -> str:
        return self.keys.token(Role.USER, user)

    def wrong_tokens(self, user: str) -> dict[str, str]:
        """What somebody might show instead of a user's token."""
        own = self.token(user)
        role, name, signature = own.split(".")
        return {
            "none": "",
            "another user's": self.token("bob"),
            "cut short": own[:-1],
            "without its signature": f"{role}.{name}.",
            "of another role by name": f"broker.{name}.{signature}",
            "of no role": f"king.{name}.{signature}",
            "of another fleet": Keys.of_secret(b"guess").token(Role.USER, user),
            "a broker's": self.file.broker_token,
            "an operator's": self.file.operator_token,
            "not ASCII": "user.ä.ö",
            "long": "x" * 1_024,
        }

    def guest(self) -> AbstractAsyncContextManager[Guest]:
        return guest(self.url)

    def visitor(self, user: str, **login: object) -> AbstractAsyncContextManager[Guest]:
        return visitor(self.url, user, self.token(user), **login)

    async def ask(
        self, method: str, path: str, token: str = "", body: bytes | None = None
    ) -> HttpAnswer:
        """A page of the broker."""
        url = "http" + self.url.removeprefix("ws") + path
        return await request(method, url, body=body, token=token, seconds=10)

    def memory(self) -> int:
        """Bytes that the broker has in memory now."""
        status = Path(f"/proc/{self.pids[BROKER]}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) << 10

    def open_files(self) -> int:
        """What the broker has open: connections above all."""
        return len(list(Path(f"/proc/{self.pids[BROKER]}/fd").iterdir()))

    @asynccontextmanager
    async def within(self, more_bytes: int) -> AsyncIterator[None]:
        """Meanwhile the broker's memory grows by no more than this."""
        before = peak = self.memory()

        async def watch() -> None:
            nonlocal peak
            while True:
                peak = max(peak, self.memory())
                await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
        grown = (max(peak, self.memory()) - before) >> 20
        assert grown <= more_bytes >> 20, f"grew by {grown} MiB"

    async def _unharmed(self) -> None:
        await self.load.more(20)
        sent = dict(self.load.sent)
        await until(lambda: not self._behind(sent), 20)
        for wrong in (self._faults(sent), self.errors_noted()):
            assert not wrong, wrong[:10]
        assert self.load.fleet.pids == self.pids, "a broker was started again"

    def errors_noted(self) -> list[str]:
        """Lines in the logs of the processes that should not be there."""
        logs = sorted((self.load.fleet.state / "logs").glob("*.log"))
        lines = [line for log in logs for line in log.read_text().splitlines()]
        return [line for line in lines if "Traceback" in line or "rror" in line]

    def _behind(self, sent: dict[tuple[str, str], int]) -> bool:
        return any(
            subscriber.last(*key) < count
            for subscriber in self.load.subscribers
            for key, count in sent.items()
            if key[0] in subscriber.topics
        )

    def _faults(self, sent: dict[tuple[str, str], int]) -> list[str]:
        """As `Load.faults`, of what was sent up to some moment."""
        found = [f"{s.user}: {gap}" for s in self.load.subscribers for gap in s.gaps]
        for subscriber in self.load.subscribers:
            for key, count in sent.items():
                if key[0] in subscriber.topics:
                    seen = subscriber.seen.get(key, [])[:count]
                    if seen != list(range(1, count + 1)):
                        found.append(f"{subscriber.user} {key}: {seen[-5:]} of {count}")
        return found


@contextmanager
def besieged(state: Path, seed: Seed | None = None) -> Iterator[Besieged]:
    """A fleet of two brokers with some load. At the end everything that was ever sent
    to those who behave has come."""
    loop = asyncio.new_event_loop()
    ready, leave = threading.Event(), asyncio.Event()
    found: list[Besieged] = []
    failures: list[BaseException] = []

    async def serve() -> None:
        async with loaded_fleet(
            state, brokers=2, subscribers=6, pause=0.02, seed=seed
        ) as load:
            broker = (await load.operator.status()).broker(BROKER)
            assert broker is not None
            found.append(Besieged(load, broker.url, loop))
            ready.set()
            await leave.wait()
            await load.finish()
            assert not load.faults(), load.faults()[:10]

    def work() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as failure:
            failures.append(failure)
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        ready.wait()
        if found:
            yield found[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.set)
        thread.join()
    if failures:
        raise failures[0]
