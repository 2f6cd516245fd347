"""What the benchmarks share: repeated runs, medians, peak memory, a JSON line."""

import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """The median time of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@contextmanager
def peak(measure: Callable[[], int]) -> Iterator[list[int]]:
    """The largest of what a measure gave meanwhile, as the only element of the list."""
    largest = [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            largest[0] = max(largest[0], measure())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield largest
    finally:
        over.set()
        thread.join()


def peak_memory() -> AbstractContextManager[list[int]]:
    """The largest resident memory of this process and all its descendants together,
    in bytes. Pages shared by forked workers count once for each."""
    return peak(lambda: _resident(_family(os.getpid())))


def bytes_below(folder: Path) -> int:
    """What the files of a folder hold; those that vanish meanwhile count nothing."""
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.path.getsize(os.path.join(place, file))
    return total


def print_line(**figures: Any) -> None:
    """One JSON line for a benchmark's figures."""
    rounded = {
        k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in figures.items()
    }
    print(json.dumps(rounded), flush=True)


def _family(root: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
    family = {root}
    while True:
        more = {p for p, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def _resident(processes: set[int]) -> int:
    total = 0
    for process in processes:
        try:
            statm = Path(f"/proc/{process}/statm").read_text()
        except OSError:
            continue
        total += int(statm.split()[1]) * _PAGE
    return total
