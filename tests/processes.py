"""Real processes for tests: started, watched line by line, and always ended."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

BROKERWISE = [sys.executable, "-m", "brokerwise.cli.main"]


class Process:
    """A child in a process group of its own, whose output is kept as it comes.

    Leaving the context ends the whole group: terminate, wait, kill.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        self.lines: list[str] = []
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Process":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._signal_group(signal.SIGTERM)
        try:
            wait_until(lambda: not self.alive(), 20)
        except TimeoutError:
            self._signal_group(signal.SIGKILL)
            wait_until(lambda: not self.alive(), 20)
        self._reader.join()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def line_with(self, text: str, seconds: float = 120) -> str:
        """The first line that contains `text`, as soon as there is one."""
        deadline = time.monotonic() + seconds
        with self._grown:
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                left = deadline - time.monotonic()
                over = self._child.poll() is not None and not self._reader.is_alive()
                if left <= 0 or over:
                    raise TimeoutError(f"no line with {text!r} in {self.lines}")
                self._grown.wait(min(left, 0.2))

    def wait(self, seconds: float = 240) -> int:
        """The exit code, once the process has ended by itself."""
        code = self._child.wait(seconds)
        self._reader.join(10)
        return code

    def kill(self) -> None:
        """SIGKILL to the process alone, not to its children."""
        self._child.kill()
        self._child.wait()

    def terminate(self) -> None:
        """SIGTERM to the process alone."""
        self._child.terminate()

    def interrupt(self) -> None:
        """SIGINT, as Ctrl-C sends it, to the process alone."""
        self._child.send_signal(signal.SIGINT)

    def members(self) -> list[str]:
        """The command names of its group."""
        names = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                name, rest = stat.read_text().rsplit(")", 1)
                if int(rest.split()[2]) == self._child.pid:
                    names.append(name.split("(", 1)[1])
        return names

    def kill_group(self) -> None:
        self._signal_group(signal.SIGKILL)

    def alive(self) -> bool:
        """Whether anything of its group still runs."""
        self._child.poll()
        try:
            os.killpg(self._child.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self._child.pid, number)
        except ProcessLookupError:
            return

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            with self._grown:
                self.lines.append(line.rstrip("\n"))
                self._grown.notify_all()


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Return when the condition holds; TimeoutError if it does not in time."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not true within {seconds} s")
        pause.wait(0.05)
