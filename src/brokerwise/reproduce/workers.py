"""Work shared among processes that never outlive the one that gave it to them.

Each worker is a fresh interpreter, so nothing that this one holds (threads, locks, a
JVM) is copied into it. One that dies is an error, not a wait without end.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

from brokerwise.model.errors import BrokerwiseError

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_ENDED_BY_PARENT = 1
_LAST_SECONDS = 5.0  # for a worker that was told to end


class WorkerError(BrokerwiseError):
    """A task failed, or the worker that had it died."""


def cores() -> int:
    """How many processes can run here at the same time."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shared(
    do: Callable[[Task], Answer],
    tasks: Iterable[Task],
    *,
    workers: int,
    prepare: Callable[[], None],
) -> Generator[tuple[Task, Answer], None, None]:
    """Each task with its answer, as they come.

    `do` and `prepare`, which each worker calls once before its first task, are
    functions of a module. With one worker the work is done here. Tasks are taken when
    a worker is free; ending the iteration early, also by Ctrl-C, ends the workers at
    once.

    Raises WorkerError for a task that failed.
    """
    if workers <= 1:
        prepare()
        for task in tasks:
            yield task, do(task)
        return
    with _started(workers, do, prepare) as crew:
        yield from _dealt(iter(tasks), crew)


class _Worker(Generic[Task, Answer]):
    """A process, and the pipe on which it takes tasks and gives answers."""

    def __init__(
        self, do: Callable[[Task], Answer], prepare: Callable[[], None]
    ) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=_work, args=(theirs, do, prepare), daemon=True
        )
        with _interrupts_held():
            self.process.start()
        theirs.close()  # so that the pipe ends when the process does
        self.task: Task | None = None

    def give(self, task: Task) -> None:
        self.task = task
        self._guarded(lambda: self.pipe.send(task))

    def answer(self) -> tuple[Task, Answer]:
        """What it was given, and its answer."""
        task = self.task
        assert task is not None
        failure, found = self._guarded(self.pipe.recv)
        if failure is not None:
            raise WorkerError(f"{task}: {failure}")
        self.task = None
        return task, found

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join(_LAST_SECONDS)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()

    def _guarded(self, way: Callable[[], Any]) -> Any:
        try:
            return way()
        except (EOFError, OSError) as error:
            self.process.join(_LAST_SECONDS)
            code = self.process.exitcode
            raise WorkerError(
                f"{self.task}: its worker died (exit code {code})",
                hint="Out of memory? The same command goes on where it stopped.",
            ) from error


@contextmanager
def _started(
    number: int, do: Callable[[Task], Answer], prepare: Callable[[], None]
) -> Iterator[list[_Worker[Task, Answer]]]:
    with ExitStack() as stack:
        crew = []
        for _ in range(number):
            worker = _Worker(do, prepare)
            stack.callback(worker.end)
            crew.append(worker)
        yield crew


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits, and a process that starts meanwhile never gets it: it is this
    process that then ends its workers."""
    resource_tracker.ensure_running()  # to start it lets signals through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _dealt(
    tasks: Iterator[Task], crew: list[_Worker[Task, Answer]]
) -> Iterator[tuple[Task, Answer]]:
    busy: dict[Any, _Worker[Task, Answer]] = {}

    def deal(worker: _Worker[Task, Answer]) -> None:
        for task in tasks:
            worker.give(task)
            busy[worker.pipe] = worker
            return

    for worker in crew:
        deal(worker)
    while busy:
        for pipe in wait(list(busy)):
            worker = busy.pop(pipe)
            done = worker.answer()
            deal(worker)
            yield done


def _work(
    pipe: "Connection[Any, Any]", do: Callable[[Any], Any], prepare: Callable[[], None]
) -> None:
    """What a worker does: until its pipe ends, or the process that started it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    ready = False
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        failure, answer = None, None
        try:
            if not ready:
                prepare()
                ready = True
            answer = do(task)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        pipe.send((failure, answer))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(_ENDED_BY_PARENT)
