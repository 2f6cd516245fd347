"""A fleet that carries its load unevenly, and its repair: real brokers and sessions,
and every message counted.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from brokerwise.model.errors import BrokerwiseError
from brokerwise.planners.balance.problem import Options
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import GapTold
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.operator import BalanceOperator, Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.supervisor import running_fleet
from brokerwise.runtime.protocol.balance import Decision

PUBLISHER = "publisher"
SAMPLE_SECONDS = 1.0
PATIENCE_SECONDS = 30.0  # for moves to be made, and for the last messages to come
_BYTES = (100, 900)  # of a message

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Skew:
    """Most users live around one broker. Sessions are left as they are for
    `seconds_before`, and watched for `seconds_after` they were moved."""

    seed: int = 1
    brokers: int = 5
    users: int = 120
    topics: int = 30
    topics_each: tuple[int, int] = (2, 6)
    messages_per_second: float = 120.0
    seconds_before: float = 8.0
    seconds_after: float = 6.0


@dataclass(frozen=True)
class Sample:
    """Loads in bytes a second, `at` seconds after the first message."""

    at: float
    loads: tuple[float, ...]
    cov: float


@dataclass(frozen=True)
class Repaired:
    """What happened. `begun`, `ended`: when sessions were told to move, and when the
    last one had, seconds after the first message."""

    brokers: tuple[str, ...]
    samples: tuple[Sample, ...]
    decision: Decision
    begun: float
    ended: float
    published: int
    delivered: int
    lost: int
    twice: int

    @property
    def is_good(self) -> bool:
        moved = self.decision.states.get("done", 0)
        proposed = self.decision.proposal
        planned = proposed.moves if proposed is not None else 0
        return not (self.lost or self.twice) and moved == planned


async def skew_and_repair(
    state: Path,
    skew: Skew,
    *,
    proposed: Callable[[Decision], None] = lambda decision: None,
    tell: Tell = lambda line: None,
) -> Repaired:
    """Start a fleet in `state`, skew it, let the balancer propose moves (`proposed` is
    told), approve them, and see what became of it. Nothing is left running."""
    places = [(float(number), 0.0) for number in range(skew.brokers)]
    seed = seed_of_count(skew.brokers, "nearest", places=places)
    async with running_fleet(seed, state=state, tell=tell) as fleet:
        return await _Repair(fleet.file, skew, proposed).run()


@dataclass
class _User:
    """What a user wants, and what has come."""

    name: str
    place: tuple[float, float]
    topics: list[str]
    received: Counter[str] = field(default_factory=Counter)
    last: dict[str, int] = field(default_factory=dict)
    twice: int = 0

    async def listen(self, client: Client) -> None:
        async for event in client.events():
            if isinstance(event, GapTold):
                continue  # what is missing is counted in the end
            if event.seq <= self.last.get(event.topic, -1):
                self.twice += 1
                continue
            self.last[event.topic] = event.seq
            self.received[event.topic] += 1


class _Repair:
    def __init__(
        self, file: FleetFile, skew: Skew, proposed: Callable[[Decision], None]
    ) -> None:
        self._file, self._skew, self._proposed = file, skew, proposed
        self._operator = Operator(file)
        self._balance = BalanceOperator(self._operator)
        self._rng = random.Random(skew.seed)
        self._topics = [f"topic-{number:02}" for number in range(skew.topics)]
        self._users = [self._user(number) for number in range(skew.users)]
        self._sent: Counter[str] = Counter()
        self._samples: list[Sample] = []
        self._began = 0.0

    async def run(self) -> Repaired:
        async with AsyncExitStack() as stack:
            for user in self._users:
                await stack.enter_async_context(self._online(user))
            publisher = await stack.enter_async_context(self._client(PUBLISHER))
            await publisher.prepare(self._topics)
            self._began = time.monotonic()
            sampling = await stack.enter_async_context(_beside(self._sample()))
            async with _beside(self._publish(publisher)):
                await asyncio.sleep(self._skew.seconds_before)
                decision, begun, ended = await self._repair()
                await asyncio.sleep(self._skew.seconds_after)
            await publisher.flush()
            await self._all_received()
            sampling.cancel()
        return self._result(decision, begun, ended)

    async def _repair(self) -> tuple[Decision, float, float]:
        decision = await self._balance.plan()
        self._proposed(decision)
        begun = time.monotonic()
        await self._balance.approve(decision.digest)
        until = begun + PATIENCE_SECONDS
        while (found := await self._balance.decision(decision.number)).is_under_way:
            if time.monotonic() > until:
                raise BrokerwiseError(
                    f"moves were not made in {PATIENCE_SECONDS:g} s: {found.states}"
                )
            await asyncio.sleep(0.1)
        return found, begun - self._began, time.monotonic() - self._began

    async def _publish(self, client: Client) -> None:
        """Some topics far more than others."""
        weights = [1 / (1 + number) for number in range(len(self._topics))]
        pause = 1 / self._skew.messages_per_second
        at = time.monotonic()
        while True:
            (topic,) = self._rng.choices(self._topics, weights)
            await client.publish(topic, "x" * self._rng.randint(*_BYTES))
            self._sent[topic] += 1
            at += pause
            await asyncio.sleep(max(0.0, at - time.monotonic()))

    async def _sample(self) -> None:
        while True:
            found = await self._balance.look()
            at = time.monotonic() - self._began
            loads = tuple(broker.load for broker in found.brokers)
            self._samples.append(Sample(at, loads, found.cov or 0.0))
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _all_received(self) -> None:
        """As far as it will happen."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._missing() and time.monotonic() < until:
            await asyncio.sleep(0.05)

    def _missing(self) -> int:
        return sum(
            self._sent[topic] - user.received[topic]
            for user in self._users
            for topic in user.topics
        )

    def _result(self, decision: Decision, begun: float, ended: float) -> Repaired:
        proposal = decision.proposal
        return Repaired(
            tuple(b.broker for b in proposal.brokers) if proposal else (),
            tuple(self._samples),
            decision,
            begun,
            ended,
            self._sent.total(),
            sum(user.received.total() for user in self._users),
            self._missing(),
            sum(user.twice for user in self._users),
        )

    def _user(self, number: int) -> _User:
        rng, skew = self._rng, self._skew
        around = 0 if rng.random() < 0.6 else rng.randrange(skew.brokers)
        place = (around + rng.uniform(-0.4, 0.4), rng.uniform(-0.4, 0.4))
        topics = rng.sample(self._topics, rng.randint(*skew.topics_each))
        return _User(f"u{number:03}", place, topics)

    @asynccontextmanager
    async def _online(self, user: _User) -> AsyncIterator[None]:
        async with self._client(user.name, user.place) as client:
            await client.subscribe(user.topics)
            async with _beside(user.listen(client)):
                yield

    @asynccontextmanager
    async def _client(
        self, user: str, place: tuple[float, float] | None = None
    ) -> AsyncIterator[Client]:
        token = await self._operator.register(user, place)
        file = self._file
        async with Client(
            file.coordinator, user, token, authority=file.authority or None
        ) as client:
            yield client


@asynccontextmanager
async def _beside(
    work: Coroutine[None, None, None],
) -> AsyncIterator["asyncio.Task[None]"]:
    """Runs while the context is open; an error in it is raised at the end."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def result_of(repaired: Repaired, skew: Skew, command: str) -> dict[str, Any]:
    """What happened, for a report; `command` is how to see it happen again."""
    proposal = repaired.decision.proposal
    assert proposal is not None
    samples = repaired.samples
    told = min(range(len(samples)), key=lambda i: abs(samples[i].at - repaired.begun))
    return {
        "kind": "skew",
        "version": version("brokerwise"),
        "command": command,
        "seed": skew.seed,
        "brokers": len(repaired.brokers),
        "digest": repaired.decision.digest,
        "reason": repaired.decision.reason,
        "changes": to_builtins(proposal.brokers),
        "max_load": proposal.max_load,
        "max_load_after": proposal.max_load_after,
        "bound": proposal.bound,
        "cov": proposal.cov,
        "cov_after": proposal.cov_after,
        "moves": repaired.decision.states.get("done", 0),
        "move_seconds": repaired.ended - repaired.begun,
        "published": repaired.published,
        "delivered": repaired.delivered,
        "lost": repaired.lost,
        "twice": repaired.twice,
        "options": {"alpha": Options().alpha},
        "details": {
            "minutes": [sample.at / 60 for sample in samples],
            "loads": [
                [sample.loads[broker] for sample in samples]
                for broker in range(len(repaired.brokers))
            ],
            "mean": [sum(sample.loads) / len(sample.loads) for sample in samples],
            "cov": [sample.cov for sample in samples],
            "moves": [
                proposal.moves if number == told else 0
                for number in range(len(samples))
            ],
        },
    }
