"""Latency data of a simulated broker: drawn, simulated, written. Without Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brokerwise.latency.calibration import Calibration, calibrate, run_of
from brokerwise.latency.design import Design, most_publishers
from brokerwise.latency.queueing import TYPICAL, Overhead, Run, simulate_targets
from brokerwise.latency.samples import join
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.storage.latency_data import (
    HEADER,
    LatencyHeader,
    read_latency_data,
    stage_latency_data,
)
from brokerwise.storage.output import new_output
from brokerwise.storage.place import Place


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What was written.

    `most` has, for each processing time, the most publishers with which a topic alone
    meets the target; `seconds` is what simulating alone took.
    """

    header: LatencyHeader
    rows: LatencyRows
    most: Mapping[float, int]
    seconds: float


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """A calibration, and the data that it was made with."""

    found: Calibration
    path: str
    digest: str

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "digest": self.digest, **self.found.as_json()}


def calibrate_directory(
    data: Place, *, start: Overhead = TYPICAL, progress: Progress | None = None
) -> CalibrationResult:
    """Fit the overhead to latency data that were measured; InputError for others.

    Configurations whose messages were not sent at their time are left out. Data of
    this program say by seed and number when that was, so the simulation gets the same.
    """
    progress = progress or Stopwatch()
    read = read_latency_data(data)
    _refuse_unmeasured(data, read.header.source)
    settings = read.header.settings
    with progress.stage("calibrate"):
        found = calibrate(
            read.rows,
            run_of(settings),
            known="seed" in settings,
            without=settings.get("late") or (),
            start=start,
        )
    return CalibrationResult(found, str(data), read.header.digest)


def _refuse_unmeasured(data: Place, source: str) -> None:
    """A simulation that is fitted to another says nothing of a real broker."""
    if source != "measured":
        raise InputError(
            f"--calibrate: found {source} data in {data}, expected measured data, "
            "which brokerwise latency measure writes",
            hint="Measure some: brokerwise latency measure --out DIR",
        )


def simulate_directory(
    out: Place,
    design: Design,
    run: Run,
    *,
    calibrated: CalibrationResult | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate what the design says and let the data appear, or nothing.

    `calibrated` says where the overhead comes from; it is kept in the settings.
    """
    progress = progress or Stopwatch()
    with new_output(out, HEADER, force=force) as output:
        rows, most = _simulated(design, run, progress)
        seconds = sum(progress.seconds[stage] for stage in _stages(design))
        with progress.stage("write"):
            header = stage_latency_data(
                output,
                rows,
                source="simulated",
                settings=_settings(design, run, most, calibrated),
                seconds=round(seconds, 3),
            )
        output.commit(header.as_json())
    return SimulationResult(header, rows, most, seconds)


def _stages(design: Design) -> list[str]:
    return [_stage(k) for k in sorted({1, *design.topics})]


def _stage(k: int) -> str:
    return f"k = {k}"


def _simulated(
    design: Design, run: Run, progress: Progress
) -> tuple[LatencyRows, dict[float, int]]:
    """Rows of all numbers of topics, and the most publishers of a topic alone."""
    with progress.stage(_stage(1)):
        alone = simulate_targets(design.alone(run.rate_each), run).rows
        most = most_publishers(alone, design.target_ms, rate_each=run.rate_each)
    parts = [alone] if 1 in design.topics else []
    for k in design.topics:
        if k > 1:
            with progress.stage(_stage(k)):
                drawn = design.sharing(
                    k, most, rate_each=run.rate_each, cores=run.cores
                )
                first = len(parts) * design.each
                numbers = range(first, first + len(drawn))
                parts.append(simulate_targets(drawn, run, numbers=numbers).rows)
    return join(parts), most


def _settings(
    design: Design,
    run: Run,
    most: Mapping[float, int],
    calibrated: CalibrationResult | None,
) -> dict[str, Any]:
    longest = run.longest_seconds
    return {
        "cores": run.cores,
        "messages": run.messages,
        "rate_each": run.rate_each,
        "longest_seconds": None if longest == float("inf") else longest,
        "seed": run.seed,
        "processing_ms": list(design.processing),
        "draw": design.way,
        "target_ms": design.target_ms,
        "most_publishers": {f"{p:g}": n for p, n in most.items()},
        "overhead": run.overhead.as_json(),
        "calibrated": calibrated and calibrated.as_json(),
    }
