"""The whole of `ingest`: raw files in, a workload directory out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark import Broadcast
from pyspark.sql import SparkSession

from brokerwise.model.errors import InputError
from brokerwise.model.workload import DEFAULT_PERIOD_SECONDS
from brokerwise.pipeline.ingest import sources as kinds
from brokerwise.pipeline.ingest.exchange import Buckets, Exchange, exchange_rows
from brokerwise.pipeline.ingest.options import (
    DROP,
    ERROR,
    LARGEST,
    REJECT,
    SUM,
    IngestOptions,
)
from brokerwise.pipeline.ingest.pairs import (
    EmitPairs,
    SortedRange,
    count_unwanted,
    plan_parts,
    refuse_too_much,
    sample_bounds,
    sort_pairs,
    write_parts,
)
from brokerwise.pipeline.ingest.reasons import Rejects, Tally
from brokerwise.pipeline.ingest.rejects import (
    count_rejected,
    refuse_repeated,
    refuse_too_many,
    write_rejected,
)
from brokerwise.pipeline.ingest.sources import (
    Source,
    Taken,
    columns_taken,
    find_sources,
    refuse_inside_input,
    split_sources,
)
from brokerwise.pipeline.ingest.topics import (
    Dictionary,
    EmitTopics,
    Topics,
    number_topics,
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

BYTES_PER_RANGE = 24 << 20
_MOST_OF_TOPICS = 64  # buckets: the driver takes them all in anyway


@dataclass(frozen=True, repr=False)
class Ingested:
    """What was written, and what was read, merged or left out on the way.

    `columns` has for each kind of files the columns that were taken for each role, by
    name or by number from 1: once for all files that agree. `dropped_subscribers` are
    those of whose pairs none is left; `unwanted_topics` are in the workload.
    """

    header: WorkloadHeader
    columns: Mapping[str, Sequence[Taken]]
    rows: Mapping[str, int]
    rejected: Mapping[str, int]
    duplicate_pairs: int
    duplicate_rates: int
    dropped_pairs: int
    dropped_subscribers: int
    unwanted_topics: int

    @property
    def events(self) -> int:
        """How many events were counted."""
        return self.rows.get("events", 0) - self.rejected.get("events", 0)

    def __repr__(self) -> str:
        header = self.header
        return (
            f"Ingested({header.topics:,} topics, {header.subscribers:,} subscribers, "
            f"{header.pairs:,} pairs, {sum(self.rejected.values()):,} rows rejected, "
            f"digest {header.digest[:12]})"
        )


@dataclass
class _Run:
    """One run of ingest: what its steps share."""

    spark: SparkSession
    options: IngestOptions
    output: Output
    out: str
    progress: Progress
    sources: list[Source]

    def of(self, *wanted: str) -> list[Source]:
        return [s for s in self.sources if s.kind.name in wanted]

    def buckets(self, data: int) -> Buckets:
        return Buckets.of(data, len(self.sources))


def ingest(
    options: IngestOptions,
    out: Place,
    *,
    session: Session,
    progress: Progress,
    force: bool = False,
) -> Ingested:
    """Read raw files into the workload `out`, which appears when it is complete.

    The same rows give the same workload, bit for bit, in whatever order and
    files they come. Interrupting it loses nothing but the work done.
    """
    inputs = (options.pairs, options.rates, options.events, options.subscribers)
    refuse_inside_input([path for paths in inputs for path in paths], out)
    found = _sources(options)
    with new_output(out.absolute(), HEADER, force=force) as output:
        with session() as spark:
            run = _Run(spark, options, output, str(out), progress, found)
            header, ingested = _ingest(run)
        output.commit(header.as_json())
    return ingested


def _sources(options: IngestOptions) -> list[Source]:
    events = kinds.EVENTS_BY_BYTES if options.by_bytes else kinds.EVENTS
    found: list[Source] = []
    for kind, paths in (
        (kinds.PAIRS, options.pairs),
        (kinds.RATES, options.rates),
        (events, options.events),
        (kinds.SUBSCRIBERS, options.subscribers),
    ):
        found += find_sources(kind, paths, options.reading(kind), len(found))
    return found


def _ingest(run: _Run) -> tuple[WorkloadHeader, Ingested]:
    context = run.spark.sparkContext
    scratch = run.output.attempts("sorted") / "sorted"
    prepare(run.output)
    with run.progress.stage("topics"):
        rated, topics = _topics(run)
        period = rated.tally.period_seconds(
            "events", run.options.period_seconds, otherwise=DEFAULT_PERIOD_SECONDS
        )
    with (
        shared(context, Dictionary.of(topics.names)) as dictionary,
        shared(context, topics.rates) as rates,
    ):
        with run.progress.stage("pairs"):
            wanted = _pairs(run, dictionary)
        with run.progress.stage("sort"):
            attributes = frozenset(r for s in run.of("subscribers") for r in s.roles)
            ranges = sort_pairs(wanted.exchange, scratch, rates, attributes)
            _count_late(run, wanted, [c for r in ranges for c in r.conflicts])
            refuse_too_much(ranges, topics.rates)
            unwanted = count_unwanted(ranges, scratch, len(topics.rates))
        with run.progress.stage("write"):
            parts = write_parts(context, plan_parts(ranges), scratch, run.output)
            scratch.delete()
            rejected = _write_rejected(run, rated, wanted)
            header = finish_header(
                run.output,
                topics=TopicColumns(topics.rates, topics.names),
                parts=parts,
                rejected=rejected,
                subscribers=sum(r.subscribers for r in ranges),
                pairs=sum(r.pairs for r in ranges),
                period_seconds=period,
                message_bytes=run.options.unit_bytes,
                made_from=_made_from(run),
            )
    tallies = (rated.tally, wanted.tally)
    return header, _summary(run, header, topics, ranges, unwanted, *tallies)


@dataclass
class _Read:
    """Rows that were read; `late` are those of no use once all were compared."""

    exchange: Exchange
    tally: Tally
    late: list[Rejects] = field(default_factory=list)


def _topics(run: _Run) -> tuple[_Read, Topics]:
    """Rates, or events counted, merged and numbered."""
    files = run.of("rates", "events")
    options = run.options
    if options.rate_if_missing is not None:
        files = files + run.of("pairs")  # topics without a rate are only named there
    size = sum(s.size for s in files)
    buckets = run.buckets(min(_MOST_OF_TOPICS, size // BYTES_PER_RANGE + 1))
    exchange = exchange_rows(
        run.spark.sparkContext,
        split_sources(files),
        buckets,
        EmitTopics(buckets, options.by_bytes),
        uncounted=frozenset({"pairs"}),
    )
    rated = _read(run, exchange)
    topics = number_topics(
        exchange,
        summed=bool(options.events) or options.repeated_rates == SUM,
        differing=options.repeated_rates == LARGEST,
        missing_rate=options.rate_if_missing,
    )
    if options.repeated_rates == ERROR:
        refuse_repeated(topics.conflicts, run.sources)
    _count_late(run, rated, topics.conflicts)
    return rated, topics


def _read(run: _Run, exchange: Exchange) -> _Read:
    """Read all rows; refuse if too many are of no use."""
    tally = exchange.tally()
    refuse_too_many(tally, run.sources, run.options.max_rejected, run.out)
    return _Read(exchange, tally)


def _count_late(run: _Run, read: _Read, late: Sequence[Rejects]) -> None:
    """Count rows that were found to be of no use only when all were compared."""
    read.late += late
    for rejects in late:
        read.tally.add_rejects(rejects)
    if late:
        refuse_too_many(read.tally, run.sources, run.options.max_rejected, run.out)


def _pairs(run: _Run, dictionary: "Broadcast[Dictionary]") -> _Read:
    context = run.spark.sparkContext
    groups = split_sources(run.of("pairs", "subscribers"))
    sampled = split_sources(run.of("pairs"))
    bounds = sample_bounds(context, sampled, _ranges(run))
    buckets = run.buckets(len(bounds) + 1)
    wanted = _read(
        run,
        exchange_rows(context, groups, buckets, EmitPairs(buckets, bounds, dictionary)),
    )
    tally = wanted.tally
    if tally.unknown_pairs and run.options.missing_rate == ERROR:
        shown = ", ".join(f'"{t}"' for t in sorted(tally.unknown_topics))
        raise InputError(
            f"{tally.unknown_pairs:,} pairs want a topic that has no rate "
            f"({shown}, ...); nothing was written",
            hint="Give such topics a rate with --missing-rate N, or leave the pairs "
            f"out with --missing-rate {DROP}.",
        )
    return wanted


def _ranges(run: _Run) -> int:
    """How many ranges to sort in: none too large for a task's memory."""
    size = sum(source.unpacked_bytes for source in run.of("pairs", "subscribers"))
    return -(-size // BYTES_PER_RANGE)


def _write_rejected(run: _Run, *reads: _Read) -> list[str]:
    files: list[str] = []
    for read in reads:
        if read.tally.reasons:
            files += write_rejected(
                read.exchange, read.late, run.sources, run.output, len(files)
            )
    return files


def _made_from(run: _Run) -> dict[str, Any]:
    options = run.options
    made: dict[str, Any] = {
        kind: [str(Place(path)) for path in paths]
        for kind in ("pairs", "rates", "events", "subscribers")
        if (paths := getattr(options, kind))
    }
    if options.rate is not None:
        made["rate"] = options.rate
    if options.missing_rate != ERROR:
        made["missing_rate"] = options.missing_rate
    if options.repeated_rates != REJECT:
        made["repeated_rates"] = options.repeated_rates
    return {"command": "ingest", **made, "columns": columns_taken(run.sources)}


def _summary(
    run: _Run,
    header: WorkloadHeader,
    topics: Topics,
    ranges: Sequence[SortedRange],
    unwanted: int,
    *tallies: Tally,
) -> Ingested:
    rows: dict[str, int] = {}
    rejected: dict[str, int] = {}
    for tally in tallies:
        for kind, count in tally.rows.items():
            rows[kind] = count
            rejected[kind] = count_rejected(tally, run.sources, kind)
    return Ingested(
        header,
        columns_taken(run.sources),
        rows,
        rejected,
        duplicate_pairs=sum(r.duplicates for r in ranges),
        duplicate_rates=topics.duplicates if run.options.rates else 0,
        dropped_pairs=sum(t.unknown_pairs for t in tallies),
        dropped_subscribers=sum(r.dropped for r in ranges),
        unwanted_topics=unwanted,
    )
