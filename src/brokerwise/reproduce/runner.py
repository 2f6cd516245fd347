"""How the papers' experiments are run: one way for all of them.

What an experiment keeps is a part: a file below `cells/`, made from its tasks and from
inputs that are written beside it. A run takes the parts that are there, computes the
missing ones on all cores, keeps each as soon as it is complete, and in the end writes
results.json, summary.md and report.html, of what there is: also when it is interrupted.
"""

import hashlib
import json
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Generic, Protocol, TypeVar

from brokerwise.model.errors import InputError
from brokerwise.reproduce.account import Account, page, summary
from brokerwise.reproduce.workers import cores, shared
from brokerwise.show.page import render_page, write_page

Record = dict[str, Any]
"""A JSON object of a kept part or of results.json, as it is made."""

_FOLDER = "cells"
_MARK = "reproduce.json"  # says that a directory is ours
# What decides results; a change elsewhere cannot alter them.
_DECISIVE = (
    *("model", "kernels", "planners", "latency", "reproduce"),
    *("runtime/balancing", "runtime/simulation"),
)
_SHOWING = (
    *("reproduce/account.py", "reproduce/pages.py"),
    *("reproduce/*_page.py", "reproduce/*_tables.py"),
)
"""What only shows results, and does not make them."""
_TRUST = 5.0  # seconds of guesses that were wrong before they are doubted
_DIGITS = 6  # of a mean

Task = TypeVar("Task")
Answer = TypeVar("Answer")
T = TypeVar("T")


@dataclass
class Cells:
    """Results of one experiment below a directory, a JSON file each.

    A file appears when its result is complete, so at any time the directory holds
    whole results only. A result is taken again if it was made from the same inputs;
    `fresh` takes none. `outdated` counts those taken that other code has made.
    """

    root: Path
    fresh: bool = False
    code: str = field(default_factory=lambda: code_digest())
    taken: int = 0
    made: int = 0
    outdated: int = 0

    @classmethod
    def open(cls, root: Path, experiment: str, *, fresh: bool = False) -> "Cells":
        """The cells of a directory, which is made if it is not there.

        Raises InputError for one that holds something else.
        """
        mark = root / _MARK
        if mark.is_file():
            found = read_result(mark)["experiment"]
            if found != experiment:
                raise InputError(
                    f"{root} holds results of {found!r}, not of {experiment!r}",
                    hint="Choose another --out.",
                )
        elif root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise InputError(
                f"{root} exists and is no directory of results; nothing was written",
                hint="Choose another --out.",
            )
        cells = cls(root, fresh)
        (root / _FOLDER).mkdir(parents=True, exist_ok=True)
        write_result(mark, {"experiment": experiment})
        return cells

    def get(
        self, name: str, inputs: Mapping[str, Any], make: Callable[[], Record]
    ) -> Record:
        """The result of this name and these inputs: the one kept, or a new one."""
        kept = self.kept(name, inputs)
        return self.keep(name, inputs, make()) if kept is None else kept

    def kept(self, name: str, inputs: Mapping[str, Any]) -> Record | None:
        """The result of this name and these inputs, if there is one to take."""
        found = None if self.fresh else _kept(self._path(name))
        if found is None or found["inputs"] != _plain(inputs):
            return None
        self.taken += 1
        self.outdated += found["code"] != self.code
        result: Record = found["result"]
        return result

    def keep(self, name: str, inputs: Mapping[str, Any], result: Record) -> Record:
        """Write a result; returns it as a later run will read it."""
        path = self._path(name)
        made = {"inputs": _plain(inputs), "code": self.code, "result": result}
        write_result(path, made)
        self.made += 1
        again: Record = read_result(path)["result"]
        return again

    def _path(self, name: str) -> Path:
        return self.root / _FOLDER / f"{name}.json"


def code_digest() -> str:
    """A digest of the source that results depend on."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in _DECISIVE:
        for source in sorted((package / folder).rglob("*.py")):
            if any(source.match(pattern) for pattern in _SHOWING):
                continue
            name = source.relative_to(package).as_posix()
            digest.update(name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def read_result(path: Path) -> Record:
    found: Record = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write a JSON file, which appears when it is complete."""
    write_whole(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a text file, which appears when it is complete."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _plain(inputs: Mapping[str, Any]) -> Any:
    """Inputs as they are once JSON has held them."""
    return json.loads(json.dumps(dict(inputs)))


def _kept(path: Path) -> Record | None:
    """What a file holds; nothing if there is none, or none that can be used."""
    try:
        found = read_result(path)
    except (OSError, ValueError):
        return None
    whole = isinstance(found, dict) and {"inputs", "code", "result"} <= set(found)
    return found if whole else None


@dataclass
class Forecast(Generic[Task]):
    """Tasks of a kind take about as long.

    Of kinds that were not measured yet it has a guess, which is as wrong as guesses
    of the others were.
    """

    workers: int
    kind: Callable[[Task], Hashable]
    waiting: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[Hashable, float] = field(default_factory=lambda: defaultdict(float))
    done: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))
    guesses: dict[Hashable, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tasks: Iterable[Task],
        workers: int,
        *,
        kind: Callable[[Task], Hashable],
        guess: Callable[[Task], float],
    ) -> "Forecast[Task]":
        forecast = cls(workers, kind)
        for task in tasks:
            forecast.waiting[kind(task)] += 1
            forecast.guesses[kind(task)] = guess(task)
        return forecast

    def finished(self, task: Task, seconds: float) -> None:
        kind = self.kind(task)
        self.waiting[kind] -= 1
        self.done[kind] += 1
        self.seconds[kind] += seconds

    @property
    def left(self) -> float:
        """Seconds until all is done, with all workers busy."""
        work = sum(self._each(kind) * number for kind, number in self.waiting.items())
        return work / self.workers

    def _each(self, kind: Hashable) -> float:
        if self.done[kind]:
            return self.seconds[kind] / self.done[kind]
        return self.guesses[kind] * self._off()

    def _off(self) -> float:
        guessed = sum(self.guesses[kind] * number for kind, number in self.done.items())
        return (sum(self.seconds.values()) + _TRUST) / (guessed + _TRUST)


class Titled(Protocol):
    @property
    def title(self) -> str: ...


class Celled(Protocol):
    @property
    def cell(self) -> Titled: ...


SomeTask = TypeVar("SomeTask", bound=Celled)


@dataclass(frozen=True)
class Part(Generic[SomeTask]):
    """What is kept in one file: its name, all that it depends on, and its tasks.

    The answers of several tasks are kept in order of their numbers, as a list of this
    name; without a `listed` there is one task, and its answer is what is kept.
    """

    name: str
    inputs: Mapping[str, Any]
    tasks: Sequence[SomeTask]
    listed: str = ""

    def kept(self, answers: Sequence[Record]) -> Record:
        if not self.listed:
            (only,) = answers
            return only
        return {self.listed: sorted(answers, key=lambda answer: answer["number"])}


@dataclass(frozen=True)
class Work(Generic[SomeTask]):
    """How tasks are done. `measure` and `warm_up`, which each process calls first, are
    functions of a module; tasks of one `kind` take about as long, and as long as
    `guess` says before any was measured: seconds on an idle core."""

    measure: Callable[[SomeTask], Record]
    warm_up: Callable[[], None]
    kind: Callable[[SomeTask], Hashable]
    guess: Callable[[SomeTask], float]


@dataclass(frozen=True)
class Moment:
    """How far an experiment is: tasks done, and of how many."""

    cell: str
    done: int
    of: int
    seconds_left: float


Watch = Callable[[Moment], None]


@dataclass
class Runner:
    """An experiment in its directory, and the parts of it that were found so far, by
    name: kept ones and new ones."""

    paper: str
    store: Cells
    watch: Watch
    found: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def open(cls, paper: str, out: Path, watch: Watch, force: bool) -> "Runner":
        """Raises InputError for a directory that holds something else."""
        return cls(paper, Cells.open(out, paper, fresh=force), watch)

    def run(
        self,
        finish: Callable[[], None],
        result: Callable[[], Record],
        account: Callable[[Record], Account],
    ) -> Record:
        """Do what is missing, by `finish`, and write what there is then; also when
        `finish` is interrupted. Nothing is written if no part is there."""
        try:
            finish()
        finally:
            found = result()
            if self.found:
                write_all(found, self.store.root, account)
        return found

    def missing(self, parts: Iterable[Part[SomeTask]]) -> list[Part[SomeTask]]:
        """Take the parts that are kept; the others, in order."""
        missing = []
        for part in parts:
            kept = self.store.kept(part.name, part.inputs)
            if kept is None:
                missing.append(part)
            else:
                self.found[part.name] = kept
        return missing

    def compute(
        self,
        parts: Sequence[Part[SomeTask]],
        work: Work[SomeTask],
        *,
        before: int = 0,
        of: int | None = None,
        later: float = 0.0,
    ) -> None:
        """Do the tasks of these parts on all cores, and keep each complete part.

        `watch` counts tasks; where these are only some of an experiment's, `before` of
        `of` tasks are done already, and the others take `later` seconds.
        """
        if not parts:
            return
        work.warm_up()  # once, so that workers find all compiled
        homes = [(task, part) for part in parts for task in part.tasks]
        of = len(homes) if of is None else of

        def watch(moment: Moment) -> None:
            done, left = before + moment.done, moment.seconds_left + later
            self.watch(replace(moment, done=done, of=of, seconds_left=left))

        home = {id(task): part for task, part in homes}
        pending: dict[str, list[Record]] = defaultdict(list)
        answers = computed([task for task, _ in homes], work, watch)
        with closing(answers):
            for task, answer in answers:
                part = home[id(task)]
                pending[part.name].append(answer)
                if len(pending[part.name]) == len(part.tasks):
                    made = part.kept(pending.pop(part.name))
                    self.keep(part.name, part.inputs, made)

    def keep(self, name: str, inputs: Mapping[str, Any], made: Record) -> None:
        self.found[name] = self.store.keep(name, inputs, made)

    # What results of all papers have in common

    def heading(self, problems: Sequence[str], missing: int) -> Record:
        """What a result begins with."""
        status = "partial" if missing else "ok"
        return {
            "kind": f"reproduce {self.paper}",
            "status": "violated" if problems else status,
            "problems": list(problems),
        }

    def counts(self, noun: str) -> Record:
        """How many parts were made and taken, under what the paper's are called."""
        return {
            f"{noun}_computed": self.store.made,
            f"{noun}_kept": self.store.taken,
            f"{noun}_of_other_code": self.store.outdated,
        }


def origin(seed: int, command: str) -> Record:
    """What a result ends with: how it was made."""
    return {
        "processes": cores(),
        "seed": seed,
        "command": command,
        "version": version("brokerwise"),
    }


def computed(
    tasks: Sequence[SomeTask], work: Work[SomeTask], watch: Watch
) -> Generator[tuple[SomeTask, Record], None, None]:
    """Each task with its answer, as they come; `watch` is told after each.

    Close it to end the workers at once.
    """
    workers = min(cores(), len(tasks))
    expected = Forecast.of(tasks, workers, kind=work.kind, guess=work.guess)
    answers = shared(
        partial(_timed, work.measure), tasks, workers=workers, prepare=work.warm_up
    )
    with closing(answers):
        for done, (task, (answer, seconds)) in enumerate(answers, start=1):
            expected.finished(task, seconds)
            yield task, answer
            watch(Moment(task.cell.title, done, len(tasks), expected.left))


def _timed(do: Callable[[Any], Answer], task: Any) -> tuple[Answer, float]:
    """A task's answer, and the seconds that all of it took."""
    return timed(partial(do, task))


def timed(way: Callable[[], T]) -> tuple[T, float]:
    """What comes of it, and the seconds that it took."""
    start = time.perf_counter()
    found = way()
    return found, time.perf_counter() - start


def write_all(result: Record, out: Path, account: Callable[[Record], Account]) -> None:
    """Write results.json, summary.md and report.html.

    The latter two are made of the result as JSON holds it, so whoever has that JSON
    gets the same text.
    """
    write_result(out / "results.json", result)
    said = account(json.loads(json.dumps(result)))
    write_whole(out / "summary.md", summary(said))
    write_page(out / "report.html", render_page(page(said)))


def rounded(number: float) -> float:
    return round(number, _DIGITS)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and its standard error; 0 for a single value."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return rounded(mean(values)), rounded(error)
