"""How much of the machine this process and those that it started have used."""

import os
from pathlib import Path

_PROC = Path("/proc")
_PARENT, _USER = 1, 11  # places in /proc/PID/stat after the name; system is next


def cpu_seconds() -> float:
    """CPU seconds of this process and its living descendants, and of children that
    have ended. Where there is no /proc only of this process and the latter."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    ticks = os.sysconf("SC_CLK_TCK")
    return total + sum(used for _, used in _descendants(os.getpid())) / ticks


def _descendants(pid: int) -> list[tuple[int, int]]:
    """Each with the ticks that it has used."""
    children: dict[int, list[tuple[int, int]]] = {}
    for path in _PROC.glob("[0-9]*/stat"):
        found = _stat(path)
        if found is not None:
            child, parent, used = found
            children.setdefault(parent, []).append((child, used))
    reached = list(children.get(pid, []))
    for child, _ in reached:  # grows while it is walked
        reached += children.get(child, [])
    return reached


def _stat(path: Path) -> tuple[int, int, int] | None:
    """Process, parent, ticks; None if it has just ended."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # a name may hold anything
    used = int(fields[_USER]) + int(fields[_USER + 1])
    return int(path.parent.name), int(fields[_PARENT]), used
