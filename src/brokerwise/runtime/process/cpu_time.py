"""CPU seconds that processes and cores have used, as /proc counts them."""

import os
from collections.abc import Iterable
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")  # what /proc counts in
_PARENT, _USER, _SYSTEM = 1, 11, 12  # fields of /proc/PID/stat, behind the name
_IDLE, _IOWAIT = 3, 4  # fields of a line of /proc/stat, behind its name


def own_seconds() -> float:
    """Of this process, of its living descendants, and of children that have ended.
    Where there is no /proc, without the living descendants."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    return total + sum(_ticks_of_tree(os.getpid())[1:]) * TICK_SECONDS


def process_seconds(pid: int) -> float:
    """Of a process and its living descendants; 0 if it has ended."""
    return sum(_ticks_of_tree(pid)) * TICK_SECONDS


def core_seconds(cores: Iterable[int]) -> float:
    """How long these cores have been busy, with whatever process."""
    names = {f"cpu{core}" for core in cores}
    total = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in names:
            ticks = [int(field) for field in fields[:8]]  # guests are in user time
            total += sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
    return total * TICK_SECONDS


def _ticks_of_tree(pid: int) -> list[int]:
    """The process first, then its descendants."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(errors="replace")
        except OSError:  # it has just ended
            continue
        fields = text.rpartition(")")[2].split()  # a name may hold anything
        number = int(path.parent.name)
        ticks[number] = int(fields[_USER]) + int(fields[_SYSTEM])
        children.setdefault(int(fields[_PARENT]), []).append(number)
    reached = [pid]
    for number in reached:  # grows while it is walked
        reached += children.get(number, [])
    return [ticks.get(number, 0) for number in reached]
