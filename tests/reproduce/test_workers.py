"""Work in other processes: all of it, and none of them afterwards."""

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import closing

import pytest
from tests.processes import Process, wait_until

from brokerwise.reproduce.workers import WorkerError, cores, shared

_ready = False


def prepare() -> None:
    global _ready
    _ready = True


def square(number: int) -> tuple[int, int, bool]:
    return number * number, os.getpid(), _ready


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three is too many")
    return number


def die(number: int) -> int:
    os._exit(7)


def pid_then_wait(number: int) -> int:
    if number < 2:
        return os.getpid()
    time.sleep(60)
    return 0


def run(do: object, tasks: Iterable[int], workers: int) -> list[object]:
    return list(shared(do, tasks, workers=workers, prepare=prepare))  # type: ignore[arg-type]


def test_all_tasks_are_answered_by_other_processes_that_are_prepared() -> None:
    found = list(shared(square, range(9), workers=2, prepare=prepare))
    assert sorted(task for task, _ in found) == list(range(9))
    assert all(answer == task * task and ready for task, (answer, _, ready) in found)
    processes = {pid for _, (_, pid, _) in found}
    assert len(processes) <= 2 and os.getpid() not in processes
    assert not any(map(alive, processes))


def test_one_worker_is_this_process() -> None:
    found = list(shared(square, range(3), workers=1, prepare=prepare))
    assert [pid for _, (_, pid, _) in found] == [os.getpid()] * 3


def test_fewer_tasks_than_workers() -> None:
    assert run(fail_at_three, [], 2) == []
    assert run(fail_at_three, [1], 3) == [(1, 1)]


def test_a_task_that_fails_is_named() -> None:
    with pytest.raises(WorkerError, match="3: ValueError: three is too many"):
        run(fail_at_three, range(6), 2)


def test_a_worker_that_dies_is_an_error_and_no_wait_without_end() -> None:
    with pytest.raises(WorkerError, match=r"its worker died \(exit code 7\)"):
        run(die, range(4), 2)


def test_leaving_early_ends_workers_in_the_middle_of_their_work() -> None:
    answers = shared(pid_then_wait, range(9), workers=2, prepare=prepare)
    with closing(answers):
        processes = {next(answers)[1], next(answers)[1]}
    assert not any(map(alive, processes))


def test_there_is_a_core() -> None:
    assert 1 <= cores() <= 4096


SCRIPT = """
import signal
from brokerwise.reproduce.workers import shared
from tests.reproduce.test_workers import pid_then_wait, prepare

if __name__ == "__main__":
    # A shell that runs the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for task, pid in shared(pid_then_wait, range(9), workers=2, prepare=prepare):
            print("worker", pid, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(
    number: signal.Signals, tmp_path: object
) -> None:
    script = os.path.join(str(tmp_path), "script.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    with Process([sys.executable, script], {"PYTHONPATH": root}) as process:
        wait_until(lambda: sum("worker" in line for line in process.lines) == 2, 60)
        processes = [int(line.split()[1]) for line in process.lines if "worker" in line]
        if number == signal.SIGKILL:
            process.kill()
        else:  # Ctrl-C goes to all of them
            os.killpg(os.getpgid(processes[0]), number)
            assert process.line_with("interrupted", 60)
        wait_until(lambda: not any(map(alive, processes)), 60)
        assert not any("Traceback" in line for line in process.lines)


def alive(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be noticed does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
