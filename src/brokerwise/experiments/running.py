"""Tasks of an experiment done on all cores, and what comes of them written."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from brokerwise.experiments.forecast import Forecast
from brokerwise.experiments.resume import Result, write_result, write_whole
from brokerwise.experiments.workers import cores, shared
from brokerwise.report.page import write_page
from brokerwise.report.reports import render


class Titled(Protocol):
    @property
    def title(self) -> str: ...


class Celled(Protocol):
    @property
    def cell(self) -> Titled: ...


Task = TypeVar("Task", bound=Celled)
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Moment:
    """How far an experiment is: tasks done, and of how many."""

    cell: str
    done: int
    of: int
    seconds_left: float


Watch = Callable[[Moment], None]


def computed(
    tasks: Sequence[Task],
    do: Callable[[Task], Answer],
    *,
    prepare: Callable[[], None],
    forecast: Callable[[Sequence[Task], int], Forecast[Task]],
    watch: Watch,
) -> Generator[tuple[Task, Answer], None, None]:
    """Each task with its answer, as they come; `watch` is told after each.

    `do` and `prepare` are functions of a module, as for `shared`. Close it to end the
    workers at once.
    """
    workers = min(cores(), len(tasks))
    expected = forecast(tasks, workers)
    answers = shared(partial(_timed, do), tasks, workers=workers, prepare=prepare)
    with closing(answers):
        for done, (task, (answer, seconds)) in enumerate(answers, start=1):
            expected.finished(task, seconds)
            yield task, answer
            watch(Moment(task.cell.title, done, len(tasks), expected.left))


def write_all(result: Result, out: Path, summary: str) -> None:
    """Write results.json, summary.md and report.html."""
    write_result(out / "results.json", result)
    write_whole(out / "summary.md", summary)
    write_page(out / "report.html", render(result))


def _timed(do: Callable[[Any], Answer], task: Any) -> tuple[Answer, float]:
    """A task's answer, and the seconds that all of it took."""
    start = time.perf_counter()
    return do(task), time.perf_counter() - start
