"""One trial on a fleet of its own: a coordinator, a broker, its workers, and the
process that sends and receives."""

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import Settings
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet
from brokerwise.runtime.measuring.tasks import (
    Failure,
    Report,
    Task,
    report_of,
    task_line,
)
from brokerwise.runtime.measuring.trials import Trial
from brokerwise.runtime.process.reporting import ReportingProcess
from brokerwise.runtime.protocol.tokens import Keys, Role

COMMAND = (sys.executable, "-m", "brokerwise.runtime.measuring")
NICE = -20  # a machine that does other things must not change what is measured
PATIENCE_SECONDS = 90.0  # for all but sending and waiting


class TrialError(BrokerwiseError):
    """A configuration could not be measured."""

    def __init__(self, number: int, reason: str) -> None:
        self.number, self.reason = number, reason
        super().__init__(f"configuration {number} could not be measured: {reason}")


@dataclass(frozen=True)
class Cores:
    """What the broker and its workers run on, and what everyone else does."""

    broker: tuple[int, ...]
    others: tuple[int, ...]


async def run_trial(trial: Trial, cores: Cores, log: Path) -> None:
    """Measure one configuration; its log is complete when this returns.

    Everything is started anew, so that nothing is left of a backlog. Raises
    TrialError. Cancelling it ends all that it started, and leaves no log.
    """
    names = topic_names(trial)
    steps = {
        name: f"spin:{topic.processing_ms!r}"
        for name, topic in zip(names, trial.topics, strict=True)
    }
    seed = seed_of_count(1, steps=steps)
    settings = Settings(
        cores=cores.others,
        broker_cores=cores.broker,
        broker_nice=NICE,
        step_limit=False,
    )
    lines: list[str] = []
    try:
        with tempfile.TemporaryDirectory(prefix="brokerwise-measure-") as scratch:
            state = Path(scratch) / "fleet"
            async with running_fleet(
                seed, state=state, settings=settings, tell=lines.append
            ) as fleet:
                await generate(_task(trial, cores, fleet, names, log))
    except BrokerwiseError as cause:
        raise TrialError(trial.number, cause.message) from cause
    if lines:  # the broker died, or the coordinator
        log.unlink(missing_ok=True)
        raise TrialError(trial.number, lines[0])


def topic_names(trial: Trial) -> tuple[str, ...]:
    return tuple(f"topic-{number}" for number in range(len(trial.topics)))


def _task(
    trial: Trial, cores: Cores, fleet: RunningFleet, names: tuple[str, ...], log: Path
) -> Task:
    keys = Keys.of_secret(bytes.fromhex(fleet.file.secret))

    def users(kind: str) -> tuple[tuple[str, str], ...]:
        found = [f"{kind}-{number}" for number in range(len(names))]
        return tuple((user, keys.token(Role.USER, user)) for user in found)

    (pid,) = fleet.pids.values()
    return Task(
        trial=trial,
        coordinator=fleet.coordinator,
        topics=names,
        publishers=users("publisher"),
        subscribers=users("subscriber"),
        broker_pid=pid,
        broker_cores=cores.broker,
        cores=cores.others,
        nice=NICE,
        log=str(log.resolve()),
    )


async def generate(task: Task) -> None:
    """Run a task in a process of its own; its log is complete when this returns.

    Raises BrokerwiseError. Cancelling it ends the process, and leaves no log.
    """
    process = await ReportingProcess.start(COMMAND, task_line(task))
    reports: list[Report] = []

    def take(line: bytes) -> None:
        try:
            reports.append(report_of(line))
        except msgspec.DecodeError:
            process.keep(line)

    try:
        async with asyncio.timeout(task.trial.longest + PATIENCE_SECONDS):
            ended = await process.follow(take)
    except TimeoutError as cause:
        raise BrokerwiseError("it did not come to its end") from cause
    finally:
        await process.stop()
    if not reports:
        raise BrokerwiseError(f"the process that sends {ended}")
    if isinstance(reports[-1], Failure):
        raise BrokerwiseError(reports[-1].message)
