"""A fleet at work, in a thread of its own, that tests may do anything to."""

import asyncio
import re
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from brokerwise.runtime.seed import Seed
from brokerwise.runtime.tokens import Keys, Role

from .load import Load, loaded_fleet, until

T = TypeVar("T")
RUN_SECONDS = 60.0


class Besieged:
    """Subscribers and publishers who behave, and what their brokers look like.

    `urls` and `pids` are by broker, as they were at the start.
    """

    def __init__(
        self, load: Load, urls: dict[str, str], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.load = load
        self.urls = urls
        self.pids = load.fleet.pids
        self.keys = Keys.of_secret(bytes.fromhex(load.fleet.file.secret))
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something to the fleet, from the thread of the test."""
        bounded = asyncio.wait_for(work, RUN_SECONDS)
        return asyncio.run_coroutine_threadsafe(bounded, self._loop).result()

    def token(self, user: str) -> str:
        return self.keys.token(Role.USER, user)

    def memory(self, broker: str = "b0") -> int:
        """Bytes that a broker has in memory now."""
        status = Path(f"/proc/{self.pids[broker]}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) << 10

    async def unharmed(self) -> None:
        """Those who behave have got everything, once and in order, up to now and some
        more; the processes are those that there were; nobody has raised."""
        await self.load.more(40)
        sent = dict(self.load.sent)
        await until(lambda: not self._behind(sent), 20)
        assert self._faults(sent) == []
        assert self.load.fleet.pids == self.pids
        assert self.tracebacks() == []

    def tracebacks(self) -> list[str]:
        """What the logs say that should not be there."""
        logs = (self.load.fleet.state / "logs").glob("*.log")
        found = [log.read_text() for log in sorted(logs)]
        return [text for text in found if "Traceback" in text or "rror" in text]

    def _behind(self, sent: dict[tuple[str, str], int]) -> bool:
        return any(
            subscriber.last(*key) < count
            for subscriber in self.load.subscribers
            for key, count in sent.items()
            if key[0] in subscriber.topics
        )

    def _faults(self, sent: dict[tuple[str, str], int]) -> list[str]:
        return [
            f"{subscriber.user} {key}: {subscriber.gaps}"
            for subscriber in self.load.subscribers
            for key, count in sent.items()
            if key[0] in subscriber.topics
            and (
                subscriber.seen[key][:count] != list(range(1, count + 1))
                or subscriber.gaps
            )
        ]


@contextmanager
def besieged(state: Path, seed: Seed | None = None) -> Iterator[Besieged]:
    """A fleet of two brokers with some load. At the end everything that was ever sent
    to those who behave has come."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    leave = asyncio.Event()
    found: list[Besieged] = []

    async def run() -> None:
        async with loaded_fleet(
            state, brokers=2, subscribers=6, pause=0.02, seed=seed
        ) as load:
            status = await load.operator.status()
            urls = {broker.broker: broker.url for broker in status.brokers}
            found.append(Besieged(load, urls, loop))
            ready.set()
            await leave.wait()
            await load.finish()
            assert load.faults() == []

    failures: list[BaseException] = []

    def work() -> None:
        try:
            loop.run_until_complete(run())
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
