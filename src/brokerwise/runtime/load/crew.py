"""The worker processes of a replay: what each is to do, how they are driven and ended.

Sessions and topics are shared among workers (`tasks_of`). A worker gets its task and
then commands on its standard input, and reports on its standard output, in lines.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.traffic import Period
from brokerwise.runtime.process.reporting import ReportingProcess

T = TypeVar("T")


class Line(msgspec.Struct, frozen=True):
    """A connection to make: a session for `topics`, a publisher, or both. `source`
    is empty for one that only subscribes."""

    user: str
    token: str
    broker: str
    source: str
    topics: tuple[str, ...] = ()


class Speech(msgspec.Struct, frozen=True):
    """`count` messages of a topic, sent over each of these lines, by number."""

    topic: str
    count: int
    lines: tuple[int, ...]


class Task(msgspec.Struct, frozen=True):
    """One worker's share of a replay.

    `streams` is all that is published, by whomever, as rows of topic, source and
    count. `seconds` is how long publishing should take; 0: as long as it must.
    """

    epoch: int
    brokers: dict[str, str]
    lines: tuple[Line, ...]
    speeches: tuple[Speech, ...]
    streams: tuple[tuple[str, str, int], ...]
    seconds: float = 0.0
    message_bytes: int = 0
    authority: str = ""

    @property
    def expected(self) -> int:
        """How many messages its lines should get."""
        by_topic: dict[str, int] = {}
        own: dict[tuple[str, str], int] = {}
        for topic, source, count in self.streams:
            by_topic[topic] = by_topic.get(topic, 0) + count
            own[topic, source] = count
        return sum(
            by_topic.get(topic, 0) - own.get((topic, line.source), 0)
            for line in self.lines
            for topic in line.topics
        )


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """Everyone is connected: publish, by routes of these generations."""

    generations: dict[str, int] = {}


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """Hang up and say what came."""


class Connected(msgspec.Struct, frozen=True, tag="connected"):
    """So many of the lines are up."""

    lines: int


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """So many messages were published and confirmed, and so many have arrived that
    were waited for."""

    published: int
    arrived: int


class Result(msgspec.Struct, frozen=True, tag="result"):
    """All that came of a task. `latencies` are the counts of a histogram."""

    findings: Findings
    latencies: list[int]


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """The task cannot go on."""

    message: str


Command = Begin | Finish
Report = Connected | Progress | Result | Failure

_commands = msgspec.json.Decoder(Command)
_reports = msgspec.json.Decoder(Report)


def as_line(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content) + b"\n"


def task_of(line: bytes) -> Task:
    return msgspec.json.decode(line, type=Task)


def command_of(line: bytes) -> Command:
    command: Command = _commands.decode(line)
    return command


def report_of(line: bytes) -> Report:
    report: Report = _reports.decode(line)
    return report


PUBLISHER = "replay"
"""The user that publishes what no user of the plan does."""

Sign = Callable[[str], str]


def tasks_of(
    period: Period,
    workers: int,
    *,
    epoch: int,
    brokers: Mapping[str, str],
    sign: Sign,
    seconds: float = 0.0,
    authority: str = "",
) -> list[Task]:
    """The tasks of so many workers: each session is with one of them, and so are all
    messages of one source. `sign` makes a user's token."""
    shares = [_Share(number, sign) for number in range(workers)]
    homes: dict[str, tuple[_Share, int]] = {}
    for number, session in enumerate(period.seed.sessions):
        share = shares[number % workers]
        source = session.user if period.seed.overlay else ""
        line = share.connect(session.user, session.broker, source, session.topics)
        homes[session.user] = share, line
    carriers = _carriers(period)
    streams = []
    for number, p in enumerate(period.published):
        if p.user:
            share, line = homes[p.user]
            share.speeches.append(Speech(p.topic, p.count, (line,)))
            streams.append((p.topic, p.user, p.count))
        else:
            share = shares[number % workers]
            lines = tuple(share.publisher(broker) for broker in carriers[p.topic])
            share.speeches.append(Speech(p.topic, p.count, lines))
            streams.append((p.topic, share.source, p.count))
    return [
        Task(
            epoch=epoch,
            brokers=dict(brokers),
            lines=tuple(share.lines),
            speeches=tuple(share.speeches),
            streams=tuple(streams),
            seconds=seconds,
            message_bytes=period.message_bytes,
            authority=authority,
        )
        for share in shares
    ]


class _Share:
    """One worker's task while it is put together."""

    def __init__(self, number: int, sign: Sign) -> None:
        self.source = f"{PUBLISHER}/{number}"
        self.lines: list[Line] = []
        self.speeches: list[Speech] = []
        self._publishers: dict[str, int] = {}
        self._sign = sign

    def connect(
        self, user: str, broker: str, source: str, topics: tuple[str, ...] = ()
    ) -> int:
        """The number of a new line."""
        self.lines.append(Line(user, self._sign(user), broker, source, topics))
        return len(self.lines) - 1

    def publisher(self, broker: str) -> int:
        if broker not in self._publishers:
            line = self.connect(PUBLISHER, broker, self.source)
            self._publishers[broker] = line
        return self._publishers[broker]


def _carriers(period: Period) -> dict[str, list[str]]:
    """The brokers that carry each topic, as planned."""
    found: dict[str, list[str]] = {}
    for broker, topic in sorted(period.planned.received):
        found.setdefault(topic, []).append(broker)
    return found


COMMAND = (sys.executable, "-m", "brokerwise.runtime.load", "replay")


class WorkerError(BrokerwiseError):
    """A worker could not do its task."""


class Member:
    """One worker process, as far as it has told."""

    def __init__(self, process: ReportingProcess, task: Task) -> None:
        self.task, self.process = task, process
        self.connected = 0
        self.progress = Progress(0, 0)
        self.result: Result | None = None
        self.failure = ""

    def tell(self, command: Command) -> None:
        self.process.tell(as_line(command))

    async def follow(self, changed: Callable[[], None]) -> None:
        """Take in its reports until it ends."""

        def take(line: bytes) -> None:
            self._take(line)
            changed()

        ended = await self.process.follow(take)
        if self.result is None and not self.failure:
            self.failure = f"a worker of the replay {ended}"
        changed()

    def _take(self, line: bytes) -> None:
        try:
            report = report_of(line)
        except msgspec.DecodeError:
            self.process.keep(line)
            return
        match report:
            case Connected(lines):
                self.connected = lines
            case Progress():
                self.progress = report
            case Result():
                self.result = report
            case Failure(message):
                self.failure = message


class Crew:
    """All workers of a replay."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self._changed = asyncio.Event()

    @property
    def connected(self) -> int:
        return sum(m.connected for m in self.members)

    @property
    def lines(self) -> int:
        return sum(len(m.task.lines) for m in self.members)

    @property
    def published(self) -> int:
        return sum(m.progress.published for m in self.members)

    @property
    def arrived(self) -> int:
        return sum(m.progress.arrived for m in self.members)

    def begin(self, generations: dict[str, int]) -> None:
        for member in self.members:
            own = {s.topic: generations.get(s.topic, 0) for s in member.task.speeches}
            member.tell(Begin(own))

    async def finish(self) -> list[Result]:
        """Raises WorkerError, as `until` does."""
        for member in self.members:
            member.tell(Finish())
        await self.until(lambda: all(m.result for m in self.members))
        return [m.result for m in self.members if m.result]

    async def until(self, happened: Callable[[], bool], quiet: float = 0.0) -> bool:
        """Wait for something that reports tell. False if none has come for `quiet`
        seconds. Raises WorkerError if a worker has failed. Cancelling it loses
        nothing."""
        while True:
            for member in self.members:
                if member.failure:
                    raise WorkerError(member.failure)
            if happened():
                return True
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), quiet or None)
            except TimeoutError:
                return False

    def note(self) -> None:
        """A report has come."""
        self._changed.set()


@asynccontextmanager
async def crew_of(
    tasks: Sequence[Task], command: Sequence[str] = COMMAND
) -> AsyncIterator[Crew]:
    """A process for each task; they have ended when the context is left."""
    members: list[Member] = []
    following: list[asyncio.Future[None]] = []
    try:
        for task in tasks:
            process = await ReportingProcess.start(command, as_line(task))
            members.append(Member(process, task))
        crew = Crew(members)
        following += [asyncio.ensure_future(m.follow(crew.note)) for m in members]
        yield crew
    finally:
        await asyncio.gather(*(member.process.stop() for member in members))
        await asyncio.gather(*following)
