"""Which process is meant by a process id: ids are used again, start times are not."""

import os
import platform
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_STATE, _STARTED = 0, 19  # fields of /proc/PID/stat, counted behind the name
_MACHINE_ID = Path("/etc/machine-id")


def machine() -> str:
    """The machine that process ids are of: its name, and its id if it has one."""
    try:
        number = _MACHINE_ID.read_text(errors="replace").strip()
    except OSError:
        number = ""
    return f"{platform.node()} {number}".strip()


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none.

    A process that has ended and was not waited for yet counts as none. Where there
    is no /proc, a process that lives started at 0: its id alone has to do.
    """
    if not Path("/proc/self/stat").exists():
        return 0 if _answers(pid) else None
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name may hold anything
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


@dataclass(frozen=True)
class ProcessName:
    """A process, and no other that comes to have its id."""

    pid: int
    started: int

    @classmethod
    def ours(cls) -> "ProcessName":
        return cls(os.getpid(), started(os.getpid()) or 0)

    @property
    def running(self) -> bool:
        return started(self.pid) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Signal exactly this process; False if it has gone."""
        if not self.running:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
            return True
        return False


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
