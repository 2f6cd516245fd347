"""Processor time that processes have used, and cores been busy, by /proc."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")  # what /proc counts in
_PPID, _UTIME, _STIME = 1, 11, 12  # fields of /proc/PID/stat, counted behind the name
_IDLE, _IOWAIT = 3, 4  # fields of a line of /proc/stat, counted behind its name


@dataclass(frozen=True)
class Busy:
    """Seconds: of a process with its children, and of the cores that it runs on."""

    own: float
    cores: float

    def since(self, before: "Busy") -> "Busy":
        return Busy(self.own - before.own, self.cores - before.cores)


def busy(pid: int, cores: Iterable[int]) -> Busy:
    """What has been used so far. Children that have ended are not counted."""
    own = sum(map(_ticks, [pid, *_children(pid)]))
    return Busy(own * TICK_SECONDS, sum(map(_busy_ticks, cores)) * TICK_SECONDS)


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[_UTIME]) + int(fields[_STIME]) if fields else 0


def _children(pid: int) -> list[int]:
    others = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [other for other in others if _parent(other) == pid]


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[_PPID]) if fields else 0


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name may hold anything


def _busy_ticks(core: int) -> int:
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name == f"cpu{core}":
            ticks = [int(field) for field in fields[:8]]  # guests are in user time
            return sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
    return 0
