"""Load on a real fleet: subscribers that note every message, publishers that send."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import (
    Connected,
    GapTold,
    Notice,
    Received,
    SessionMoved,
)
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet
from brokerwise.runtime.protocol.frames import RequestToMove
from brokerwise.runtime.protocol.seed import Seed


@dataclass(eq=False)
class Subscriber:
    """`seen` are the numbers of each topic and source, as they came."""

    user: str
    topics: tuple[str, ...]
    client: Client
    seen: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    gaps: list[GapTold] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    async def listen(self) -> None:
        async for event in self.client.events():
            if isinstance(event, Received):
                self.seen.setdefault((event.topic, event.source), []).append(event.seq)
            else:
                self.gaps.append(event)

    def broker(self) -> str:
        """Where it was connected last."""
        places = [
            n.broker for n in self.notices if isinstance(n, Connected | SessionMoved)
        ]
        return places[-1]

    def last(self, topic: str, source: str) -> int:
        return max(self.seen.get((topic, source), [0]))


@dataclass(eq=False)
class Load:
    """Publishers that send numbered messages to all topics until told to stop."""

    fleet: RunningFleet
    operator: Operator
    subscribers: list[Subscriber]
    publishers: list[Client]
    topics: tuple[str, ...]
    sources: tuple[str, ...]
    sent: dict[tuple[str, str], int] = field(default_factory=dict)
    stopped: bool = False

    async def publish(self, number: int, pause: float) -> None:
        source = self.sources[number]
        while not self.stopped:
            for topic in self.topics:
                await self.publishers[number].publish(topic, {"to": topic})
                key = (topic, source)
                self.sent[key] = self.sent.get(key, 0) + 1
            await asyncio.sleep(pause)

    def total(self) -> int:
        return sum(self.sent.values())

    async def more(self, messages: int, seconds: float = 30) -> None:
        """Wait until so many more have been sent."""
        wanted = self.total() + messages
        await until(lambda: self.total() >= wanted, seconds)

    async def finish(self) -> None:
        """Stop sending, and wait until what was sent last has come."""
        self.stopped = True
        for publisher in self.publishers:
            await publisher.flush()
        await until(lambda: not self.behind(), 20)

    def behind(self) -> list[tuple[str, str, str]]:
        return [
            (subscriber.user, *key)
            for subscriber in self.subscribers
            for key, count in self.sent.items()
            if key[0] in subscriber.topics and subscriber.last(*key) < count
        ]

    def faults(self) -> list[str]:
        """What was lost, shown twice or out of order."""
        found = []
        for subscriber in self.subscribers:
            for key, count in self.sent.items():
                if key[0] in subscriber.topics:
                    seen = subscriber.seen.get(key, [])
                    if seen != list(range(1, count + 1)):
                        found.append(f"{subscriber.user} {key}: {_difference(seen)}")
            found += [f"{subscriber.user}: {gap}" for gap in subscriber.gaps]
        return found

    def disorder(self) -> list[str]:
        """What was shown twice or out of order, or lost without being told: a crash
        may lose messages, but not silently."""
        found = []
        for subscriber in self.subscribers:
            for key, seen in subscriber.seen.items():
                if any(b <= a for a, b in pairwise(seen)):
                    found.append(f"{subscriber.user} {key}: {_difference(seen)}")
                missing = seen[-1] - seen[0] + 1 - len(seen)
                told = [g for g in subscriber.gaps if (g.topic, g.source) == key]
                if missing != sum(gap.missing or 0 for gap in told):
                    found.append(f"{subscriber.user} {key}: {missing} lost, {told}")
        return found


def _difference(seen: list[int]) -> str:
    wrong = [(a, b) for a, b in zip([0, *seen], seen, strict=False) if b != a + 1]
    return f"{len(seen)} seen, breaks {wrong[:5]}"


async def until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError(f"not true within {seconds} s")
        await asyncio.sleep(0.02)


@asynccontextmanager
async def loaded_fleet(
    state: Path,
    *,
    brokers: int = 3,
    subscribers: int = 12,
    topics: int = 4,
    publishers: int = 2,
    pause: float = 0.01,
    seed: Seed | None = None,
    wants: Callable[[int], Iterable[int]] = lambda number: (number, number + 1),
    accepts: Callable[[RequestToMove], bool] = lambda request: True,
    before: Callable[[Operator], Awaitable[object]] | None = None,
) -> AsyncIterator[Load]:
    """A fleet of real processes with subscribers and publishers at work.

    `before` anybody connects the operator may do something; `accepts` is what clients
    say to a move.
    """
    names = tuple(f"t{number}" for number in range(topics))
    seed = seed or seed_of_count(brokers)
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(running_fleet(seed, state=state))
        operator = Operator(fleet.file)
        if before is not None:
            await before(operator)
        listeners: list[Subscriber] = []
        for number in range(subscribers):
            wanted = tuple(dict.fromkeys(names[k % topics] for k in wants(number)))
            listeners.append(
                await _subscriber(stack, fleet, f"u{number}", wanted, accepts)
            )
        senders, sources = [], tuple(f"p{number}" for number in range(publishers))
        for source in sources:
            token = await operator.register(source)
            client = Client(fleet.coordinator, source, token)
            senders.append(await stack.enter_async_context(client))
        load = Load(fleet, operator, listeners, senders, names, sources)
        tasks = [asyncio.create_task(s.listen()) for s in listeners]
        tasks += [
            asyncio.create_task(load.publish(number, pause))
            for number in range(publishers)
        ]
        try:
            await load.more(50)
            yield load
        finally:
            load.stopped = True
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error


async def _subscriber(
    stack: AsyncExitStack,
    fleet: RunningFleet,
    user: str,
    topics: tuple[str, ...],
    accepts: Callable[[RequestToMove], bool],
) -> Subscriber:
    token = await Operator(fleet.file).register(user)
    notices: list[Notice] = []
    client = Client(
        *(fleet.coordinator, user, token),
        accepts_moves=accepts,
        on_notice=notices.append,
    )
    await stack.enter_async_context(client)
    await client.subscribe(topics)
    return Subscriber(user, topics, client, notices=notices)
