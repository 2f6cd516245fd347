"""Latencies of topics that share a broker: simulated data, and models of data."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from brokerwise.api.callers import Path, Paths, paths_of, place_of
from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from brokerwise.latency.models import LatencyModel
    from brokerwise.model.latency import LatencyRows


def simulate_latencies(
    out: Path,
    *,
    k: Sequence[int] = (1, 2, 3, 4, 5, 6),
    configurations: int = 1000,
    processing_ms: Sequence[float] = (2.5, 5.0, 7.5, 10.0),
    draw: str = "mixed",
    rate_each: float = 4.0,
    messages: int = 80,
    cores: int = 1,
    target_ms: float = 250.0,
    calibrate: Path | None = None,
    seed: int = 0,
    force: bool = False,
) -> "LatencyRows":
    """Latency data of a broker that is only computed, written to `out`.

    `configurations` are for each number of topics in `k`; `calibrate` is measured data
    that says what messages cost. The rest is as in `brokerwise latency simulate`.
    """
    from brokerwise.latency.design import Design
    from brokerwise.latency.queueing import Run
    from brokerwise.pipeline.latency_simulation import (
        calibrate_directory,
        simulate_directory,
    )

    design = Design(
        tuple(k), configurations, tuple(processing_ms), draw, target_ms, seed
    )
    run = Run(rate_each, messages, cores, seed=seed)
    calibrated = None
    if calibrate is not None:
        calibrated = calibrate_directory(place_of(calibrate))
        run = replace(run, overhead=calibrated.found.overhead)
    made = simulate_directory(
        place_of(out), design, run, calibrated=calibrated, force=force
    )
    return made.rows


def train_latency_model(
    data: Paths,
    *,
    out: Path,
    kind: str = "unified",
    k: int | None = None,
    seed: int = 0,
    force: bool = False,
) -> "LatencyModel":
    """Learn what p90 topics have that share a broker; the model is written to `out`.

    `data` are directories of latency data, measured or simulated. `kind` is `unified`,
    ours, or `paper`; `k` the most topics on a broker, all there are by default.
    """
    from brokerwise.pipeline.latency_models import TrainingRequest, train_directory

    places = [Place(path) for path in paths_of(data)]
    request = TrainingRequest(kind, k, seed)
    return train_directory(places, place_of(out), request, force=force).model


def read_latency_model(directory: Path) -> "LatencyModel":
    """A model whose `p90_ms` takes arrays of processing times (ms) and rates (messages
    a second) of shape (sets, topics); its digests are checked."""
    from brokerwise.storage import latency_model

    return latency_model.read_latency_model(place_of(directory)).model
