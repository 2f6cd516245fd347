"""Table I: how long each algorithm takes, warm, with nothing else at work."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any

from brokerwise.experiments.overlay_measure import LITERAL, best, instance_seed, wired
from brokerwise.experiments.overlay_settings import REGIMES, Cell
from brokerwise.pipeline.networks.generate import generate
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.heuristics import HEURISTICS


@dataclass(frozen=True)
class Timing:
    """One network in the plane at ratio 1, and how often each algorithm wires it."""

    users: int = 10_000
    repeats: int = 5
    local_repeats: int = 5
    literal_repeats: int = 1

    def inputs(self, seed: int) -> dict[str, Any]:
        return {**asdict(self), "seed": seed}


FULL = Timing()
QUICK = Timing(repeats=3, local_repeats=1, literal_repeats=0)


def measure_times(timing: Timing, seed: int) -> dict[str, Any]:
    """The median seconds of each, from a network's demand to the wiring.

    Those of `local` have all that it begins with in them: the other algorithms, and
    the bound. All is compiled before.
    """
    cell = Cell(REGIMES[0], timing.users, (1.0,), samples=1, local=1)
    drawn = instance_seed(seed, 0, cell)
    demand = Demand.of(generate(cell.settings(1.0), drawn))
    seconds = {
        name: _median(partial(wired, name, demand, drawn), timing.repeats)
        for name in HEURISTICS
    }
    if timing.literal_repeats:
        literal = partial(wired, LITERAL, demand, drawn)
        seconds[LITERAL] = _median(literal, timing.literal_repeats)
    seconds["local"] = _median(partial(best, demand, drawn), timing.local_repeats)
    return {
        "users": cell.users,
        "brokers": cell.brokers,
        "repeats": timing.repeats,
        "local_repeats": timing.local_repeats,
        "literal_repeats": timing.literal_repeats,
        "seconds": seconds,
    }


def _median(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(median(times), 5)
