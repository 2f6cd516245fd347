"""What people see: progress and errors on stderr, results on stdout."""

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from brokerwise.model.errors import BrokerwiseError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.2


def stderr() -> Console:
    return Console(file=sys.stderr, highlight=False, soft_wrap=True)


def print_error(error: BrokerwiseError) -> None:
    """`error: ...`, its details indented, its hint last."""
    lines = [f"error: {error.message}", *(f"  {line}" for line in error.details)]
    if error.hint:
        lines.append(error.hint)
    sys.stderr.write("\n".join(map(_printable, lines)) + "\n")


def print_result(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_json(result: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _printable(line: str) -> str:
    """The line without what would move a terminal's cursor or change its colours."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in line
    )


class LiveProgress:
    """Shows the stages of a job as bars, and notes the seconds of each.

    Without a terminal it prints one line a stage, when the stage is over.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._console = stderr()
        self._started = time.perf_counter()
        self._context: SparkContext | None = None

    @property
    def total(self) -> float:
        """Seconds since the command began."""
        return round(time.perf_counter() - self._started, 3)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            if self._console.is_terminal:
                with self._bar(name):
                    yield
            else:
                yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + elapsed, 3)
        if not self._console.is_terminal:
            self._console.print(f"{name} {elapsed:.1f} s")

    @contextmanager
    def session(
        self, master: str | None, conf: Mapping[str, str] | None
    ) -> Iterator["SparkSession"]:
        """A Spark session, its start shown as a stage; one that runs is shared, and
        neither stopped nor are jobs of others in it."""
        from brokerwise.pipeline.session import running_session, start_session

        running = running_session()
        if running is None:
            with self.stage("session"):
                session = start_session(master, conf)
        else:
            session, self.seconds["session"] = running, 0.0
        self._context = session.sparkContext
        tag = f"brokerwise-{uuid4().hex}"
        session.sparkContext.addJobTag(tag)
        try:
            yield session
        except BaseException:
            with suppress(Exception):
                session.sparkContext.cancelJobsWithTag(tag)
            raise
        finally:
            self._context = None
            with suppress(Exception):  # a session that is gone has none
                session.sparkContext.removeJobTag(tag)
            if running is None:
                session.stop()

    @contextmanager
    def _bar(self, name: str) -> Iterator[None]:
        columns = (
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=32),
            TimeElapsedColumn(),
        )
        over = threading.Event()
        with Progress(*columns, console=self._console) as bars:
            task = bars.add_task(name, total=None)

            def follow() -> None:
                while not over.wait(_POLL_SECONDS):
                    done, total = self._tasks()
                    if total:
                        bars.update(task, completed=done, total=total)

            thread = threading.Thread(target=follow, daemon=True)
            thread.start()
            try:
                yield
                bars.update(task, completed=1, total=1)
            finally:
                over.set()
                thread.join()

    def _tasks(self) -> tuple[int, int]:
        if self._context is None:
            return 0, 0
        from brokerwise.pipeline.progress import task_counts

        with suppress(Exception):  # the context may stop while we ask
            return task_counts(self._context)
        return 0, 0
