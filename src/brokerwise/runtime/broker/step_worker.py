"""The process that runs one topic's processing step.

    python -m brokerwise.runtime.broker.step_worker SPEC

One line of JSON comes in for each message, one `Reply` goes out for each, in order;
before that, one that says whether the step could be loaded. When the input ends, so
does the process, whatever it is doing: its broker has gone, or wants nothing more.
"""

import importlib
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import BinaryIO, NoReturn

import msgspec

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES

SPIN = "spin"
Work = Callable[[bytes], bytes | None]


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a message: its new data, that it is `dropped`, or the `problem`
    that the step had with it."""

    data: msgspec.Raw = msgspec.Raw(b"null")
    dropped: bool = False
    problem: str = ""


def load_step(spec: str) -> Work:
    """What a step does: `spin:MS` burns that many milliseconds of processor time and
    leaves the message as it is; `module:function` calls a function of the operator's.

    Raises InputError for a text that is neither, and whatever the module raises.
    """
    check_step(spec)
    head, _, tail = spec.partition(":")
    if head == SPIN:
        return _spin_step(_milliseconds(tail))
    function = getattr(importlib.import_module(head), tail, None)
    if not callable(function):
        raise InputError(f"module {head} has no function {tail}")
    return _function_step(function)


def check_step(spec: str) -> None:
    """Raises InputError for a text that no step is called. Whether a module has the
    function shows when its broker starts."""
    head, colon, tail = spec.partition(":")
    if not (head and colon and tail):
        raise InputError(f"a step is spin:MS or module:function, not {spec!r}")
    if head == SPIN:
        _milliseconds(tail)


def _milliseconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"spin: takes milliseconds, 0 or more, not {text!r}")
    return value


def _spin_step(milliseconds: float) -> Work:
    def spin(data: bytes) -> bytes:
        end = time.thread_time() + milliseconds / 1000
        while time.thread_time() < end:
            pass
        return data

    return spin


def _function_step(function: Callable[[object], object]) -> Work:
    def call(data: bytes) -> bytes | None:
        result = function(msgspec.json.decode(data))
        return None if result is None else msgspec.json.encode(result)

    return call


def apply_step(work: Work, data: bytes) -> Reply:
    """What the step makes of a message; nothing that it raises gets out."""
    try:
        result = work(data)
    except Exception as problem:
        return Reply(problem=f"{type(problem).__name__}: {problem}")
    if result is None:
        return Reply(dropped=True)
    if len(result) > MAX_FRAME_BYTES:
        return Reply(problem=f"a result of {len(result)} bytes is too large")
    return Reply(msgspec.Raw(result))


def main() -> NoReturn:
    try:
        _serve(sys.argv[1])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)  # without waiting for the thread that reads


def _serve(spec: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the broker to handle
    lines, answers = _own_pipes()
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(lines, messages), daemon=True).start()
    try:
        work = load_step(spec)
    except Exception as problem:  # the step's own module may raise anything
        _write(answers, Reply(problem=f"{type(problem).__name__}: {problem}"))
        return
    _write(answers, Reply())
    while True:
        _write(answers, apply_step(work, messages.get()))


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Input and output for us alone: what a step prints goes where errors go."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return lines, answers


def _read(lines: BinaryIO, messages: "SimpleQueue[bytes]") -> None:
    for line in lines:
        messages.put(line.rstrip(b"\n"))
    os._exit(0)  # even from within an endless step


def _write(answers: BinaryIO, reply: Reply) -> None:
    line = memoryview(msgspec.json.encode(reply) + b"\n")
    try:
        while line:
            line = line[answers.write(line) :]
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
