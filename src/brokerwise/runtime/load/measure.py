"""Measuring latencies: trials on fleets of their own, one after the other.

Each trial has a coordinator, a broker, its workers, and the process that sends and
receives (`generator.py`). A series of them grows in a directory:

    measuring.json   what is measured, and on what: written first
    logs/            a file a configuration, which appears when it is complete
    rows.parquet, latency.json   what the logs come to, made from them again and again

A run that was interrupted goes on with the configurations that have no log.
"""

import asyncio
import fcntl
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import Settings
from brokerwise.runtime.fleet.supervisor import running_fleet
from brokerwise.runtime.load.generator import LogWritten, TrialTask
from brokerwise.runtime.load.processes import started_workers
from brokerwise.runtime.load.trials import Trial
from brokerwise.runtime.protocol.tokens import Keys, Role
from brokerwise.storage.latency_data import (
    FOLDER,
    HEADER,
    LatencyHeader,
    latency_header,
    log_name,
    logged,
    rows_table,
)
from brokerwise.storage.place import Place
from brokerwise.storage.tables import write_table

COMMAND = (sys.executable, "-m", "brokerwise.runtime.load", "measure")
NICE = -20  # a machine that does other things must not change what is measured
PATIENCE_SECONDS = 90.0  # for all but sending and waiting


class TrialError(BrokerwiseError):
    """A configuration could not be measured."""

    def __init__(self, number: int, reason: str) -> None:
        self.number, self.reason = number, reason
        super().__init__(f"configuration {number} could not be measured: {reason}")


@dataclass(frozen=True)
class Cores:
    """Those that the broker and its workers run on, and those of all other
    processes of a trial."""

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
                (pid,) = fleet.pids.values()
                task = trial_task(
                    trial,
                    fleet.file,
                    names,
                    log,
                    broker_pid=pid,
                    cores=cores,
                    nice=NICE,
                )
                await generate(task)
    except BrokerwiseError as cause:
        raise TrialError(trial.number, cause.message) from cause
    if lines:  # the broker died, or the coordinator
        log.unlink(missing_ok=True)
        raise TrialError(trial.number, lines[0])


def topic_names(trial: Trial) -> tuple[str, ...]:
    return tuple(f"topic-{number}" for number in range(len(trial.topics)))


def trial_task(
    trial: Trial,
    fleet: FleetFile,
    topics: Sequence[str],
    log: Path,
    *,
    user_prefix: str = "",
    broker_pid: int = 0,
    cores: Cores | None = None,
    nice: int = 0,
) -> TrialTask:
    """The trial on a fleet, with a publishing and a subscribing user a topic, whose
    names begin with `user_prefix`."""
    keys = Keys.of_secret(bytes.fromhex(fleet.secret))

    def users(kind: str) -> tuple[tuple[str, str], ...]:
        names = [f"{user_prefix}{kind}-{number}" for number in range(len(topics))]
        return tuple((user, keys.token(Role.USER, user)) for user in names)

    return TrialTask(
        trial=trial,
        coordinator=fleet.coordinator,
        topics=tuple(topics),
        publishers=users("publisher"),
        subscribers=users("subscriber"),
        broker_pid=broker_pid,
        broker_cores=cores.broker if cores else (),
        cores=cores.others if cores else (),
        nice=nice,
        log=str(log.resolve()),
        authority=fleet.authority,
    )


async def generate(task: TrialTask) -> None:
    """Run a task in a process of its own; its log is complete when this returns.

    Raises BrokerwiseError. Cancelling it ends the process, and leaves no log.
    """
    try:
        async with (
            asyncio.timeout(task.trial.longest + PATIENCE_SECONDS),
            started_workers(
                COMMAND, [task], LogWritten, LogWritten, "the process that sends"
            ) as workers,
        ):
            await workers.finished()
    except TimeoutError as cause:
        raise BrokerwiseError("it did not come to its end") from cause


MARK = "measuring.json"
_ROWS = "rows.parquet"
_LOCK = ".lock"
_OURS = {MARK, _ROWS, HEADER, FOLDER, _LOCK}


class Directory:
    """The directory of a series, locked: no other process measures into it."""

    def __init__(self, root: Path, settings: Mapping[str, Any]) -> None:
        self.root = root
        self.settings = settings

    @property
    def logs(self) -> Path:
        return self.root / FOLDER

    def log(self, number: int) -> Path:
        return self.logs / log_name(number)

    def complete(self) -> dict[int, Path]:
        """The logs that are there, by configuration."""
        return logged(self.logs)

    def commit(self, rows: LatencyRows, header: Mapping[str, Any]) -> LatencyHeader:
        """Write rows, and then the header, without which they are not there."""
        made = latency_header(rows, _ROWS, source="measured", **header)
        (self.root / HEADER).unlink(missing_ok=True)
        write_table(Place(str(self.root / _ROWS)), rows_table(rows))
        _write(self.root / HEADER, made.as_json())
        return made


@contextmanager
def measuring_in(
    root: Path, settings: Mapping[str, Any], *, force: bool = False
) -> Iterator[Directory]:
    """The directory, made or gone on in.

    Raises InputError for one that holds something else, that has been begun with
    other settings, or in which another process measures. With `force` it begins anew.
    """
    _refuse_foreign(root)
    try:
        (root / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise InputError(
            f"{root} cannot be made: {cause.strerror}", hint="Choose another --out."
        ) from cause
    with _locked(root):
        if force:
            _clear(root)
        plain = json.loads(json.dumps(settings))
        _agree(root / MARK, plain)
        yield Directory(root, plain)


def _refuse_foreign(root: Path) -> None:
    if not root.exists() or (root / MARK).is_file():
        return
    if not root.is_dir() or {path.name for path in root.iterdir()} - _OURS:
        raise InputError(
            f"{root} exists and holds no measurements; nothing was written",
            hint="Choose another --out.",
        )


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as cause:
        raise InputError(f"{root}: another process measures there") from cause
    finally:
        os.close(descriptor)


def _clear(root: Path) -> None:
    for name in (HEADER, _ROWS, MARK):
        (root / name).unlink(missing_ok=True)
    shutil.rmtree(root / FOLDER)
    (root / FOLDER).mkdir()


def _agree(mark: Path, settings: Mapping[str, Any]) -> None:
    """Write down what is measured, or refuse what is not what is written there."""
    if not mark.is_file():
        _write(mark, settings)
        return
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise InputError(
            f"{mark} is not JSON: {cause}", hint="Begin anew with --force."
        ) from cause
    if found == settings:
        return
    raise InputError(
        f"{mark.parent} was begun with other settings; nothing was measured",
        details=_differences(found, settings),
        hint="Go on with the same ones, begin anew with --force, or choose another "
        "--out.",
    )


def _differences(found: Any, wanted: Mapping[str, Any]) -> list[str]:
    before = found if isinstance(found, dict) else {}
    keys = [key for key in {**before, **wanted} if before.get(key) != wanted.get(key)]
    return [f"{key}: found {before.get(key)}, not {wanted.get(key)}" for key in keys]


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """The file appears when it is complete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    draft.replace(path)


ATTEMPTS = 3
_PAUSE_SECONDS = 2.0


@dataclass(frozen=True)
class Moment:
    """How far a series is, and how many seconds the rest will take."""

    cell: str
    done: int
    of: int
    seconds_left: float


class Countdown:
    """Seconds that are left: as expected, corrected by how long it has taken so far."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._expected = self._taken = 0.0

    def note(self, trial: Trial, seconds: float) -> None:
        self._expected += trial.expected_seconds(self._cores)
        self._taken += seconds

    def left(self, trials: Sequence[Trial]) -> float:
        expected = sum(trial.expected_seconds(self._cores) for trial in trials)
        return expected * (self._taken / self._expected if self._expected else 1.0)


async def measure(
    trials: Sequence[Trial],
    later: Sequence[Trial],
    directory: Directory,
    cores: Cores,
    countdown: Countdown,
    tell: Callable[[Moment], None] = lambda moment: None,
) -> None:
    """Measure those that have no log yet.

    `later` are trials that will or may follow. What fails is tried again;
    TrialError if that does not help. Cancelling it loses the trial under way.
    """
    complete = directory.complete()
    missing = [trial for trial in trials if trial.number not in complete]
    following = [trial for trial in later if trial.number not in complete]
    total = len(trials) + len(later)
    for i, trial in enumerate(missing):
        rest = [*missing[i:], *following]
        done, left = total - len(rest), countdown.left(rest)

        def say(words: str, done: int = done, left: float = left) -> None:
            tell(Moment(words, done, total, left))

        say(_words(trial))
        countdown.note(trial, await _measured(trial, directory, cores, say))
    done, left = total - len(following), countdown.left(following)
    tell(Moment("", done, total, left))


async def _measured(
    trial: Trial, directory: Directory, cores: Cores, say: Callable[[str], None]
) -> float:
    """The seconds that it took, in the attempt that succeeded."""
    loop = asyncio.get_running_loop()
    for attempt in range(1, ATTEMPTS + 1):
        began = loop.time()
        try:
            await run_trial(trial, cores, directory.log(trial.number))
            break
        except TrialError as error:
            if attempt == ATTEMPTS:
                raise
            say(f"once more: {error.message}")
            await asyncio.sleep(_PAUSE_SECONDS)
    return loop.time() - began


def _words(trial: Trial) -> str:
    """`configuration 7: 2.5 ms 40/s, 10 ms 12/s`."""
    topics = [f"{t.processing_ms:g} ms {t.rate_per_second:g}/s" for t in trial.topics]
    return f"configuration {trial.number}: {', '.join(topics)}"


def machine() -> dict[str, Any]:
    """What the machine calls itself."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def cores_for(broker: Sequence[int]) -> Cores:
    """The broker's cores, and all others that we may use. Raises InputError if one of
    them is not there, or none is left to send and receive from."""
    ours = os.sched_getaffinity(0)
    wrong = [core for core in broker if core not in ours]
    if wrong or not broker:
        raise InputError(
            f"--broker-cores: found {wrong[0] if wrong else 'none'}, expected some of "
            f"{_listed(ours)}"
        )
    others = ours - set(broker)
    if not others:
        raise InputError(
            f"--broker-cores: found {_listed(set(broker))}, which leaves none to send "
            "and receive from",
            hint="Latencies need a machine with at least 2 cores.",
        )
    return Cores(tuple(sorted(set(broker))), tuple(sorted(others)))


def _listed(cores: set[int]) -> str:
    return ",".join(map(str, sorted(cores)))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    return next(names, platform.processor())
