"""Finding runs in the result of `reproduce balance`, and how things are called."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brokerwise.report.numbers import significant

Result = Mapping[str, Any]

CITY, LIVE, PAPER = "emergency", "live", "simulation"
WORLDS = {
    CITY: "the emergency city, simulated",
    LIVE: "the emergency city on real processes",
    PAPER: "the paper's simulation",
}
PLACEMENTS = ("random", "round-robin", "nearest")
POLICIES = (
    *("none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh"),
    *("planned", "planned@ldm", "ldm@ldm"),
)
PAPER_NAMES = {
    "none": "no balancing",
    "ldm": "LDM",
    "sdm": "SDM",
    "gsh": "GSH",
    "ldm+gsh": "LDM + GSH",
    "sdm+gsh": "SDM + GSH",
    "planned": "planned (ours)",
    "planned@ldm": "planned with LDM's moves",
    "ldm@ldm": "LDM, as early and in steps",
}
_UNITS = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))


def runs_of(result: Result, world: str, placement: str | None = None) -> list[Result]:
    """The runs of a world's figures, placements and policies in order."""
    found = result["live"] if world == LIVE else result["figures"]
    runs = [
        run
        for run in found
        if run["world"] == world and placement in (None, run["placement"])
    ]
    return sorted(
        runs,
        key=lambda r: (
            PLACEMENTS.index(r["placement"]),
            POLICIES.index(r["policy"]),
        ),
    )


def run_of(result: Result, world: str, placement: str, policy: str) -> Result | None:
    runs = runs_of(result, world, placement)
    return next((run for run in runs if run["policy"] == policy), None)


def unit_of(runs: Iterable[Result]) -> tuple[float, str]:
    """What loads of these runs are written in: bytes a second over this, its name."""
    most = max((run["max_load"] for run in runs), default=0)
    return next(((size, name) for size, name in _UNITS if most >= size), (1.0, "B/s"))


def load_text(load: float, unit: tuple[float, str]) -> str:
    size, name = unit
    return f"{significant(load / size)} {name}"


def cov_text(cov: float) -> str:
    return f"{cov:.3f}"


def title_of(run: Result) -> str:
    return f"{run['placement']}, {PAPER_NAMES[run['policy']]}"


def max_loads(run: Result) -> Sequence[int]:
    return [max(row) for row in run["loads"]]
