"""What the process that sends and receives is told, and what it answers."""

import msgspec

from brokerwise.runtime.measuring.trials import Trial


class Task(msgspec.Struct, frozen=True):
    """A trial to run against a fleet: of one broker, whose process is `broker_pid`, or
    of several, and then nobody asks how busy they are.

    `topics` are their names; `publishers` and `subscribers` the tokens of the users
    of each topic. `log` is the file to write. `authority` signs the fleet's
    certificates, if it has any.
    """

    trial: Trial
    coordinator: str
    topics: tuple[str, ...]
    publishers: tuple[tuple[str, str], ...]
    subscribers: tuple[tuple[str, str], ...]
    broker_pid: int
    broker_cores: tuple[int, ...]
    cores: tuple[int, ...]
    nice: int
    log: str
    authority: str = ""


class Written(msgspec.Struct, frozen=True, tag="written"):
    """The log is there."""


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """The trial could not be run to its end."""

    message: str


Report = Written | Failure


def task_line(task: Task) -> bytes:
    return msgspec.json.encode(task) + b"\n"


def task_of(line: bytes) -> Task:
    return msgspec.json.decode(line, type=Task)


def report_line(report: Report) -> bytes:
    return msgspec.json.encode(report) + b"\n"


def report_of(line: bytes) -> Report:
    report: Report = msgspec.json.decode(line, type=Report)
    return report
