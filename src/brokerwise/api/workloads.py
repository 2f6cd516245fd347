"""Workloads: make, read, write and look at them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from brokerwise.api.callers import (
    Path,
    Paths,
    open_session,
    paths_of,
    place_of,
    session,
)
from brokerwise.model.errors import InputError
from brokerwise.model.profile import Profile
from brokerwise.model.workload import Workload
from brokerwise.storage import workload as workload_storage

if TYPE_CHECKING:
    from brokerwise.pipeline.ingest.job import Ingested
    from brokerwise.pipeline.ingest.trips import TripsIngested


def read_workload(directory: Path, *, verify: bool = False) -> Workload:
    """A whole workload in memory; with `verify` its digest is recomputed."""
    return workload_storage.read_workload(place_of(directory), verify=verify)


def write_workload(workload: Workload, directory: Path, *, force: bool = False) -> str:
    """Write a workload; returns its digest."""
    place = place_of(directory)
    return workload_storage.write_workload(workload, place, force=force).digest


def uniform(
    *, topics: int, subscribers: int, each: int, rates: int | str, seed: int = 0
) -> Workload:
    """A workload in which all topics are equally likely, and all rates of a range
    such as "8-19"; the same as `generate uniform` and ingest make."""
    from brokerwise.pipeline.trace import RateRange, Uniform, draw_rates, pair_blocks

    trace = Uniform(topics, subscribers, each, RateRange.parse(str(rates)))
    drawn = draw_rates(trace, seed).tolist()
    blocks = list(pair_blocks(trace, seed))
    return Workload.from_pairs(
        topics=[f"t{t}" for t in np.concatenate([b[0] for b in blocks]).tolist()],
        subscribers=[f"u{s}" for s in np.concatenate([b[1] for b in blocks]).tolist()],
        rates={f"t{t}": rate for t, rate in enumerate(drawn)},
    )


def generate(
    shape: str, *, scale: float, out: Path, seed: int = 0, force: bool = False
) -> dict[str, Any]:
    """Write a trace shaped like "spotify" or "twitter", on Spark.

    Returns its header: counts, files, and what made it.
    """
    from brokerwise.pipeline.generate import generate_trace
    from brokerwise.pipeline.progress import Stopwatch
    from brokerwise.pipeline.shapes import SHAPES, Size

    if shape not in SHAPES:
        raise InputError(
            f"shape: found {shape!r}, expected {' or '.join(sorted(SHAPES))}"
        )
    return generate_trace(
        Size(SHAPES[shape], scale),
        seed,
        place_of(out),
        session=open_session,
        progress=Stopwatch(),
        force=force,
    )


def ingest(
    *,
    pairs: Paths,
    out: Path,
    rates: Paths = (),
    events: Paths = (),
    rate: int | None = None,
    subscribers: Paths = (),
    pairs_columns: Mapping[str, str | int] | None = None,
    rates_columns: Mapping[str, str | int] | None = None,
    events_columns: Mapping[str, str | int] | None = None,
    subscribers_columns: Mapping[str, str | int] | None = None,
    columns: Mapping[str, str] | None = None,
    force: bool = False,
    **options: Any,
) -> "Ingested":
    """Read raw files into a workload directory, on Spark.

    Give `rates`, `events`, or one `rate` for all topics. `pairs_columns` and its like
    map a role (topic, subscriber, rate, ...) to the name or 1-based number of its
    column in files of that kind; `columns` does so for files of all kinds, and there
    "a,b" is the first of two names that a file has. Further options are those of
    `IngestOptions`.
    """
    from brokerwise.pipeline.ingest.job import ingest as run
    from brokerwise.pipeline.ingest.options import IngestOptions
    from brokerwise.pipeline.progress import Stopwatch

    asked = IngestOptions(
        pairs=paths_of(pairs),
        rates=paths_of(rates),
        events=paths_of(events),
        rate=rate,
        subscribers=paths_of(subscribers),
        pairs_columns=pairs_columns or {},
        rates_columns=rates_columns or {},
        events_columns=events_columns or {},
        subscribers_columns=subscribers_columns or {},
        columns={r: tuple(c.split(",")) for r, c in (columns or {}).items()},
        **options,
    )
    return run(
        asked,
        place_of(out),
        session=open_session,
        progress=Stopwatch(),
        force=force,
    )


def ingest_trips(
    trips: Paths,
    *,
    out: Path,
    columns: Mapping[str, str] | None = None,
    force: bool = False,
    **options: Any,
) -> "TripsIngested":
    """Read records of taxi trips into a workload of regions, on Spark.

    `columns` maps a role (taxi, pickup_time, ...) to the name or number of its column;
    further options are those of `TripOptions`.
    """
    from brokerwise.pipeline.ingest.options import TripOptions
    from brokerwise.pipeline.ingest.trips import ingest_trips as run
    from brokerwise.pipeline.progress import Stopwatch

    asked = TripOptions(
        trips=paths_of(trips),
        columns={r: tuple(c.split(",")) for r, c in (columns or {}).items()},
        **options,
    )
    return run(
        asked,
        place_of(out),
        session=open_session,
        progress=Stopwatch(),
        force=force,
    )


def profile(workload: Workload | Path) -> Profile:
    """What a workload looks like; a directory is counted by Spark."""
    from brokerwise.pipeline.profile import profile_directory, profile_workload

    if isinstance(workload, Workload):
        return profile_workload(workload)
    return profile_directory(session(), place_of(workload))
