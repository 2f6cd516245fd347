"""What the processes of a replay tell each other: JSON lines."""

from typing import TypeVar

import msgspec

from brokerwise.runtime.replay.arrivals import Findings

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
