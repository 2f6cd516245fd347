"""A replay from its first connection to its verdict.

It asks the fleet whether it runs this plan, and brokers for their counters before and
after; workers (`worker.py`), which share users and topics, send and receive.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.client.coordinator import CoordinatorClient
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.processes import Workers, started_workers
from brokerwise.runtime.load.traffic import (
    Figure,
    Latencies,
    Outcome,
    Period,
    Traffic,
    since,
    traffic_of,
)
from brokerwise.runtime.load.worker import (
    PublishersConnected,
    ReplayProgress,
    ReplayTask,
    ReplayUser,
    SessionsOpened,
    WorkerReport,
    WorkerResult,
)
from brokerwise.runtime.net.http import ask
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.process.meters import LatencyHistogram
from brokerwise.runtime.protocol.fleet import (
    BrokerState,
    FleetStatus,
    TrafficPage,
)
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.protocol.tokens import Keys, Role

REQUEST_SECONDS = 10.0  # a broker may be busy with thousands of sessions


class RestartedBrokerError(BrokerwiseError):
    """A broker has started again meanwhile, and counts from zero."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        super().__init__(
            f"{broker} has started again during the replay: what it counted is gone"
        )


class Observer:
    """Asks coordinator and brokers of a fleet. Calls raise UnreachableError and
    RefusedError; cancelling one loses nothing."""

    def __init__(self, fleet: FleetFile) -> None:
        self._fleet = fleet
        self._tls = client_tls(fleet.coordinator, fleet.authority)

    async def brokers(self, seed: Seed) -> dict[str, str]:
        """URLs of the brokers; InputError unless all of the plan's are up."""
        status = await Operator(self._fleet).status()
        refuse_other_fleet(seed, status)
        return {b.broker: b.url for b in status.brokers if b.state is BrokerState.UP}

    async def routes(self, topics: Sequence[str]) -> dict[str, set[str]]:
        """The brokers of each topic's route."""
        fleet = self._fleet
        asking = CoordinatorClient(fleet.coordinator, fleet.operator_token, self._tls)
        routes = (await asking.routes(topics)).routes
        return {r.topic: {place.broker for place in r.brokers} for r in routes}

    async def loads(self, brokers: Mapping[str, str]) -> list[TrafficPage]:
        """The counters of these brokers, given their URLs."""
        return await asyncio.gather(*(self._load(url) for url in brokers.values()))

    async def _load(self, url: str) -> TrafficPage:
        return await ask(
            f"{url.replace('ws', 'http', 1)}/load",
            None,
            TrafficPage,
            method="GET",
            token=self._fleet.broker_token,
            seconds=REQUEST_SECONDS,
            ssl=self._tls,
        )


def refuse_other_fleet(seed: Seed, status: FleetStatus) -> None:
    """Refuse a fleet that does not run this plan, or not with all its brokers."""
    if status.digest != seed.digest:
        raise InputError(
            _other_plan(seed.plan, status.plan),
            hint=f"Run this one: brokerwise up --plan {seed.plan}",
        )
    states = {b.broker: b.state for b in status.brokers}
    missing = [b.name for b in seed.brokers if states.get(b.name) != "up"]
    if missing:
        first = f"{missing[0]} is {states.get(missing[0], 'missing')}"
        others = f", and {len(missing) - 1:,} more" if missing[1:] else ""
        raise InputError(
            f"not all brokers of the plan are up: {first}{others}",
            hint="See them with: brokerwise status",
        )


def _other_plan(wanted: str, found: str) -> str:
    if not found:
        return f"the fleet runs no plan, expected {wanted}"
    if found == wanted:
        return f"the fleet runs the plan that {wanted} was before it changed"
    return f"the fleet runs the plan {found}, expected {wanted}"


def refuse_restarted(
    before: Sequence[TrafficPage], after: Sequence[TrafficPage]
) -> None:
    epochs = {report.broker: report.epoch for report in before}
    for report in after:
        if report.epoch != epochs[report.broker]:
            raise RestartedBrokerError(report.broker)


COMMAND = (sys.executable, "-m", "brokerwise.runtime.load", "replay")
PUBLISHER = "replay"
"""The user that publishes what no user of the plan does."""


def tasks_of(
    period: Period,
    workers: int,
    fleet: FleetFile,
    *,
    epoch: int,
    seconds: float = 0.0,
) -> list[ReplayTask]:
    """A task for each of `workers` workers. Each user is with one of them, and so are
    all messages of one source."""
    keys = Keys.of_secret(bytes.fromhex(fleet.secret))
    shares: list[list[ReplayUser]] = [[] for _ in range(workers)]
    published = _published(period, workers)
    for number, (name, sessions) in enumerate(_sessions(period).items()):
        own = tuple(published.pop(name, ())) if period.seed.overlay else ()
        shares[number % workers].append(
            ReplayUser(
                name,
                keys.token(Role.USER, name),
                source=name if period.seed.overlay else "",
                topics=tuple(topic for topics in sessions for topic in topics),
                sessions=len(sessions),
                publishes=own,
            )
        )
    for number, share in enumerate(shares):
        source = f"{PUBLISHER}/{number}"
        if source in published:
            token = keys.token(Role.USER, PUBLISHER)
            share.append(
                ReplayUser(PUBLISHER, token, source, publishes=tuple(published[source]))
            )
    streams = tuple(
        (topic, source, count)
        for source, rows in _published(period, workers).items()
        for topic, count in rows
    )
    return [
        ReplayTask(
            epoch=epoch,
            coordinator=fleet.coordinator,
            users=tuple(share),
            streams=streams,
            seconds=seconds,
            message_bytes=period.message_bytes,
            authority=fleet.authority,
        )
        for share in shares
    ]


def _sessions(period: Period) -> dict[str, list[tuple[str, ...]]]:
    """The topics of each session, by user."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for session in period.seed.sessions:
        found.setdefault(session.user, []).append(session.topics)
    return found


def _published(period: Period, workers: int) -> dict[str, list[tuple[str, int]]]:
    """What each source publishes: a user of an overlay its own content, and each
    worker a share of the topics."""
    found: dict[str, list[tuple[str, int]]] = {}
    for number, p in enumerate(period.published):
        source = p.user or f"{PUBLISHER}/{number % workers}"
        found.setdefault(source, []).append((p.topic, p.count))
    return found


QUIET_SECONDS = 5.0  # after which, if nothing arrives, what is missing is lost
ROUTE_SECONDS = 10.0  # until brokers without subscribers have left the routes
COUNT_SECONDS = 2.0  # until the counters have what the subscribers have
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Stage:
    """How far a replay is: `done` of `total` sessions or messages."""

    name: str
    done: int
    total: int


OnStage = Callable[[Stage], None]


class Replay:
    """One period of a plan through the fleet that runs it.

    `speed` is how many times faster than real time it goes; None: as fast as the
    brokers confirm. `workers` processes share the sessions and the publishing.
    """

    def __init__(
        self,
        period: Period,
        fleet: FleetFile,
        *,
        workers: int,
        speed: float | None = None,
        on_stage: OnStage = lambda stage: None,
    ) -> None:
        self._period, self._fleet = period, fleet
        self._workers, self._speed = workers, speed
        self._on_stage = on_stage
        self._observer = Observer(fleet)

    async def run(self) -> Outcome:
        """Raises BrokerwiseError if it could not be done to its end. Cancelling it
        ends all that it started; messages that were published are in the fleet."""
        period = self._period
        brokers = await self._observer.brokers(period.seed)
        tasks = tasks_of(
            period,
            self._workers,
            self._fleet,
            epoch=time.time_ns() // 1_000_000,
            seconds=period.seconds / self._speed if self._speed else 0.0,
        )
        expected = sum(task.expected for task in tasks)
        async with started_workers(
            COMMAND, tasks, WorkerReport, WorkerResult, "a worker of the replay"
        ) as workers:
            await self._connect(workers)
            before = await self._observer.loads(brokers)
            began = time.monotonic()
            await self._publish(workers, expected)
            seconds = time.monotonic() - began
            seen = await self._counted(brokers, before)
            workers.go_on()
            results = await workers.finished()
        return outcome(period, seen, results, seconds)

    async def _connect(self, workers: Workers[WorkerResult]) -> None:
        """All users subscribe; publishers connect once there are routes to them."""
        sessions = len(self._period.seed.sessions)

        def connected() -> bool:
            opened = sum(report.sessions for report in workers.latest(SessionsOpened))
            self._on_stage(Stage("connect", opened, sessions))
            return opened == sessions

        await workers.until(connected)
        await self._settled_routes()
        workers.go_on()
        await workers.until(lambda: workers.have_all(PublishersConnected))

    async def _publish(self, workers: Workers[WorkerResult], expected: int) -> None:
        messages, arrived = self._period.messages, 0

        def published() -> bool:
            nonlocal arrived
            found = workers.latest(ReplayProgress)
            arrived = sum(progress.arrived for progress in found)
            self._on_stage(Stage("replay", arrived, expected))
            return sum(progress.published for progress in found) == messages

        workers.go_on()
        await workers.until(published)
        await workers.until(lambda: published() and arrived >= expected, QUIET_SECONDS)

    async def _settled_routes(self) -> None:
        """Returns once routes lead where the plan says; if that does not come about,
        after a while: the counts will tell."""
        if self._period.seed.overlay:
            return
        planned: dict[str, set[str]] = {}
        for broker, topic in self._period.planned.received:
            planned.setdefault(topic, set()).add(broker)
        until = time.monotonic() + ROUTE_SECONDS
        while True:
            found = await self._observer.routes(list(planned))
            if found == planned or time.monotonic() > until:
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _counted(
        self, brokers: Mapping[str, str], before: Sequence[TrafficPage]
    ) -> Traffic:
        """What the brokers have counted since, once that is what was planned, or
        after a moment as it is."""
        until = time.monotonic() + COUNT_SECONDS
        while True:
            after = await self._observer.loads(brokers)
            refuse_restarted(before, after)
            seen = since(traffic_of(before), traffic_of(after))
            if seen == self._period.planned or time.monotonic() > until:
                return seen
            await asyncio.sleep(_POLL_SECONDS)


def outcome(
    period: Period, seen: Traffic, results: Sequence[WorkerResult], seconds: float
) -> Outcome:
    """The verdict on what was seen."""
    latencies = LatencyHistogram()
    for result in results:
        own = LatencyHistogram()
        own.counts = result.latencies
        latencies.merge(own)
    loads = period.loads_of(seen)
    cost = None
    if period.objective is not None:
        cost = Figure(period.objective, period.cost_of(seen))
    return Outcome(
        messages=period.messages,
        planned=period.planned,
        seen=seen,
        loads={b: Figure(period.loads.get(b, 0), load) for b, load in loads.items()},
        findings=Findings.total(result.findings for result in results),
        latencies=Latencies(*(p / 1000 for p in latencies.percentiles(50, 90, 99))),
        seconds=round(seconds, 3),
        cost=cost,
    )
