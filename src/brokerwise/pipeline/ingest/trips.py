"""The whole of `ingest --trips`: trip records in, a workload of regions out."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from pyspark import SparkContext
from pyspark.sql import SparkSession

from brokerwise.model.grid import Grid
from brokerwise.pipeline.ingest.exchange import Buckets, Exchange, exchange_rows
from brokerwise.pipeline.ingest.options import TripOptions, Window
from brokerwise.pipeline.ingest.pairs import (
    cut_names,
    plan_parts,
    refuse_too_much,
    sort_pairs,
    write_parts,
)
from brokerwise.pipeline.ingest.records import EmitTrips, find_trips, read_zones
from brokerwise.pipeline.ingest.regions import (
    GPS,
    Drive,
    RegionTopics,
    Survey,
    busiest,
    count_regions,
    find_centre,
    number_topics,
    sample_names,
    spread_interests,
    survey,
)
from brokerwise.pipeline.ingest.rejects import (
    count_rejected,
    refuse_too_many,
    write_rejected,
)
from brokerwise.pipeline.ingest.sources import (
    Source,
    Taken,
    columns_taken,
    refuse_inside_input,
    split_sources,
)
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.pipeline.tasks import shared
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place
from brokerwise.storage.workload import (
    HEADER,
    TopicColumns,
    WorkloadHeader,
    finish_header,
    prepare,
)

TRIPS_PER_RANGE = 200_000
BYTES_PER_BUCKET = 4 << 20


@dataclass(frozen=True)
class TripsIngested:
    """What was written, and what was counted on the way.

    `columns` are those that were taken for each role, once for all files that agree;
    `window` is what was counted (milliseconds since 1970), `largest` the region with
    most positions, `most_taxis` the most that were in any region at once.
    """

    header: WorkloadHeader
    columns: Sequence[Taken]
    rows: int
    rejected: int
    trips: int
    positions: int
    regions: int
    window: Window
    largest: str
    largest_per_second: float
    most_taxis: int


@dataclass(frozen=True)
class _Run:
    """One run: what its steps share."""

    spark: SparkSession
    options: TripOptions
    sources: list[Source]
    output: Output
    out: str
    progress: Progress

    @property
    def context(self) -> SparkContext:
        return self.spark.sparkContext

    @property
    def tasks(self) -> int:
        size = sum(source.unpacked_bytes for source in self.sources)
        return size // BYTES_PER_BUCKET + 1


def ingest_trips(
    options: TripOptions,
    out: Place,
    *,
    session: Session,
    progress: Progress,
    force: bool = False,
) -> TripsIngested:
    """Read trip records into the workload `out`, which appears when it is complete.

    The same rows give the same workload, bit for bit, in whatever order and files they
    come. The driver holds regions, never trips or positions. Interrupting it loses
    nothing but the work done.
    """
    refuse_inside_input(options.trips, out)
    sources = find_trips(options)
    zones = None if options.zones is None else read_zones(options.zones)
    with new_output(out.absolute(), HEADER, force=force) as output:
        with session() as spark, ExitStack() as stack:
            run = _Run(spark, options, sources, output, str(out), progress)
            told = None
            if zones is not None:
                told = stack.enter_context(shared(run.context, zones))
            buckets = Buckets.of(run.tasks, len(sources))
            emit = EmitTrips(buckets, options, told)
            groups = split_sources(sources)
            found = _ingest(run, exchange_rows(run.context, groups, buckets, emit))
        output.commit(found.header.as_json())
    return found


def _ingest(run: _Run, exchange: Exchange) -> TripsIngested:
    options = run.options
    prepare(run.output)
    with run.progress.stage("trips"):
        tally = exchange.tally()
        refuse_too_many(tally, run.sources, 1, run.out)  # damaged files
        centre = find_centre(exchange, options.fold_ms) or (0.0, 0.0)
        grid = Grid(*centre, options.cell_mm)
        seen = survey(exchange, run.sources, grid, options)
        for rejects in seen.outside:
            tally.add_rejects(rejects)
        refuse_too_many(tally, run.sources, options.max_rejected, run.out)
    drive = Drive(grid, options.within_mm, options.gps_ms, _window(options, seen))
    period_ms = drive.window[1] - drive.window[0]
    with run.progress.stage("regions"):
        regions = count_regions(exchange, drive, exchange.buckets.data)
        topics = number_topics(regions, options, period_ms)
    with run.progress.stage("write"):
        rejected: list[str] = []
        if tally.reasons:
            late = list(seen.outside)
            rejected = write_rejected(exchange, late, run.sources, run.output, 0)
        header = _write(run, exchange, drive, topics, rejected, seen)
    return TripsIngested(
        header,
        columns_taken(run.sources)["trips"],
        rows=sum(tally.rows.values()),
        rejected=count_rejected(tally, run.sources, "trips"),
        trips=seen.trips,
        positions=int(regions.positions.sum()),
        regions=len(regions.keys),
        window=drive.window,
        most_taxis=int(regions.most_taxis.max(initial=0)),
        **_largest(topics, period_ms),
    )


def _window(options: TripOptions, seen: Survey) -> Window:
    """What is counted: whole seconds."""
    if options.window is not None:
        return options.window
    if options.fold_ms is not None and options.busiest_ms is None:
        return (0, options.fold_ms)
    if not seen.trips:
        return (0, options.busiest_ms or 1000)
    if options.busiest_ms is not None:
        return busiest(seen.stretches, options.busiest_ms)
    span = -((seen.first_ms - seen.last_ms) // 1000) * 1000
    return seen.first_ms, seen.first_ms + span


def _write(
    run: _Run,
    exchange: Exchange,
    drive: Drive,
    topics: RegionTopics,
    rejected: list[str],
    seen: Survey,
) -> WorkloadHeader:
    """Interests, sorted and written by tasks; topics; and the header."""
    scratch = run.output.attempts("sorted") / "sorted"
    ranges = min(run.tasks, seen.trips // TRIPS_PER_RANGE + 1)
    bounds = cut_names(sample_names(exchange) if ranges > 1 else [], ranges)
    with shared(run.context, topics) as known, shared(run.context, topics.rates) as r:
        wanted = spread_interests(exchange, drive, known, bounds)
        parts = sort_pairs(wanted, scratch, r, frozenset())
        refuse_too_much(parts, topics.rates)
        written = write_parts(run.context, plan_parts(parts), scratch, run.output)
    scratch.delete()
    window = drive.window
    return finish_header(
        run.output,
        topics=TopicColumns(
            topics.rates, topics.names, topics.publishers, topics.processing_ms
        ),
        parts=written,
        rejected=rejected,
        subscribers=sum(part.subscribers for part in parts),
        pairs=sum(part.pairs for part in parts),
        period_seconds=(window[1] - window[0]) // 1000,
        message_bytes=run.options.message_bytes,
        made_from=_made_from(run, drive, seen),
    )


def _made_from(run: _Run, drive: Drive, seen: Survey) -> Mapping[str, Any]:
    options, grid = run.options, drive.grid
    return {
        "command": "ingest",
        "trips": [str(Place(path)) for path in options.trips],
        **({} if options.zones is None else {"zones": str(Place(options.zones))}),
        "columns": columns_taken(run.sources),
        "centre": {"lon": grid.centre_lon, "lat": grid.centre_lat},
        "cell_metres": grid.cell_mm / 1000,
        "within_metres": options.within_mm / 1000,
        "gps_every_seconds": options.gps_ms / 1000,
        "update_every_seconds": options.update_ms / 1000,
        "processing_ms": list(options.processing_ms),
        "update_processing_ms": options.update_processing_ms,
        "seed": options.seed,
        **({} if options.fold_ms is None else {"fold_seconds": options.fold_ms / 1000}),
        "window": [iso(time) for time in drive.window],
        "trips_in_area": seen.trips,
    }


def iso(time_ms: int) -> str:
    """A time as text, in UTC."""
    text = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
    return text.removesuffix("+00:00")


def _largest(topics: RegionTopics, period_ms: int) -> dict[str, Any]:
    if not len(topics.gps):
        return {"largest": "", "largest_per_second": 0.0}
    at = int(topics.gps[np.argmax(topics.rates[topics.gps])])
    return {
        "largest": topics.names[at].removeprefix(GPS),
        "largest_per_second": float(topics.rates[at]) * 1000 / period_ms,
    }
