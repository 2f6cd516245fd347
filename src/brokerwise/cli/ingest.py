"""`brokerwise ingest`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.ingest_trips import Reading, TripsRequest, ingest_trips
from brokerwise.cli.options import Conf, Force, Json, Master, parse_columns, parse_conf
from brokerwise.model.errors import InputError
from brokerwise.model.units import parse_bytes, parse_seconds, parse_share

if TYPE_CHECKING:
    from brokerwise.pipeline.ingest.job import Ingested
    from brokerwise.pipeline.ingest.sources import Taken

_DAY = 86_400
_TRIPS = "Taxi trips (--trips)"
# One column for files of all kinds; with commas, the first that a file has.
_Column = Annotated[str | None, typer.Option(hidden=True)]


def ingest(
    out: Annotated[str, typer.Option(help="The workload directory to write.")],
    pairs: Annotated[
        list[str] | None, typer.Option(help="Files of pairs: topic,subscriber.")
    ] = None,
    rates: Annotated[
        list[str] | None, typer.Option(help="Files of rates: topic,rate.")
    ] = None,
    events: Annotated[
        list[str] | None,
        typer.Option(help="Or files of events to count: topic,time[,bytes]."),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(min=0, help="Or the rate of every topic that pairs name: 1."),
    ] = None,
    subscribers: Annotated[
        list[str] | None, typer.Option(help="Files of name[,threshold,x,y].")
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            help="What the rates are per: 10d (default), or the events' span."
        ),
    ] = None,
    message_bytes: Annotated[
        str | None, typer.Option(help="The size of a message: 200B (default).")
    ] = None,
    by: Annotated[
        str, typer.Option(help="What rates count: messages or bytes.")
    ] = "messages",
    pairs_columns: Annotated[
        str | None,
        typer.Option(
            help="Where columns of --pairs are, by name or number: "
            "topic=followee,subscriber=1."
        ),
    ] = None,
    rates_columns: Annotated[
        str | None, typer.Option(help="The same of --rates: topic=1,rate=posts.")
    ] = None,
    events_columns: Annotated[
        str | None,
        typer.Option(help="The same of --events: topic=1,time=3,bytes=4."),
    ] = None,
    subscribers_columns: Annotated[
        str | None,
        typer.Option(help="The same of --subscribers: name=1,threshold=2,x=3,y=4."),
    ] = None,
    topic_column: _Column = None,
    subscriber_column: _Column = None,
    rate_column: _Column = None,
    time_column: _Column = None,
    bytes_column: _Column = None,
    name_column: _Column = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Text files start with column names, or do not. Default: look.",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, tsv, whitespace, jsonl or parquet. Default: by file name.",
        ),
    ] = None,
    missing_rate: Annotated[
        str,
        typer.Option(
            help="For topics without a rate: error, drop their pairs, or a rate."
        ),
    ] = "error",
    repeated_rates: Annotated[
        str | None,
        typer.Option(
            help="For a topic with different rates: reject (default: the largest "
            "counts, the other rows are unusable), largest, sum or error."
        ),
    ] = None,
    max_rejected: Annotated[
        str, typer.Option(help="The share of rows that may be unusable.")
    ] = "1%",
    trips: Annotated[
        list[str] | None,
        typer.Option(
            help="Files of taxi trips: when and where each began and ended.",
            rich_help_panel=_TRIPS,
        ),
    ] = None,
    zones: Annotated[
        str | None,
        typer.Option(
            help="A file of zone,lon,lat, if trips name zones, not places.",
            rich_help_panel=_TRIPS,
        ),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="The side of a region (500m).", rich_help_panel=_TRIPS),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            help="How far from their middle trips may begin and end (50km).",
            rich_help_panel=_TRIPS,
        ),
    ] = None,
    longest: Annotated[
        str | None,
        typer.Option(help="How long a trip may take (6h).", rich_help_panel=_TRIPS),
    ] = None,
    gps_every: Annotated[
        str | None,
        typer.Option(
            help="How often a taxi tells its position (1s).", rich_help_panel=_TRIPS
        ),
    ] = None,
    update_every: Annotated[
        str | None,
        typer.Option(
            help="How often a region is updated (10s).", rich_help_panel=_TRIPS
        ),
    ] = None,
    processing: Annotated[
        str | None,
        typer.Option(
            help="Milliseconds for a position: a region has one of 10,20,30,40.",
            rich_help_panel=_TRIPS,
        ),
    ] = None,
    update_processing: Annotated[
        str | None,
        typer.Option(help="Milliseconds for an update (1).", rich_help_panel=_TRIPS),
    ] = None,
    fold: Annotated[
        str | None,
        typer.Option(
            help="Lay all days over one another (1d), or so.", rich_help_panel=_TRIPS
        ),
    ] = None,
    busiest: Annotated[
        str | None,
        typer.Option(help="Count only the busiest 1h, or so.", rich_help_panel=_TRIPS),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="Count only FROM..TO, two times.", rich_help_panel=_TRIPS),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Draws processing times (0).", rich_help_panel=_TRIPS),
    ] = None,
    trips_columns: Annotated[
        str | None,
        typer.Option(
            help="Where columns of --trips are: taxi, pickup_time, dropoff_time, "
            "pickup_lon, pickup_lat, dropoff_lon, dropoff_lat, pickup_zone, "
            "dropoff_zone.",
            rich_help_panel=_TRIPS,
        ),
    ] = None,
    taxi_column: _Column = None,
    pickup_time_column: _Column = None,
    dropoff_time_column: _Column = None,
    pickup_lon_column: _Column = None,
    pickup_lat_column: _Column = None,
    dropoff_lon_column: _Column = None,
    dropoff_lat_column: _Column = None,
    pickup_zone_column: _Column = None,
    dropoff_zone_column: _Column = None,
    force: Force = False,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Make a workload from raw files: pairs, and rates or events; or taxi trips.

    Files may be CSV, TSV, whitespace edge lists, JSON lines or Parquet, plain or
    gzip; each option takes files, directories and patterns and may be repeated.
    Columns go by name, or else by their order, unless --pairs-columns and its like
    say where they are. (As before, --topic-column NAME,NAME and its like do so for
    files of all kinds: the first name that a file has.)

    \b
    Example:
      brokerwise ingest --pairs follows.csv --rates rates.csv --out out/workload
      brokerwise ingest --trips trips.csv.gz --busiest 1h --out out/taxis
    """
    request = TripsRequest(
        trips=tuple(trips or ()),
        zones=zones,
        lengths={"--cell": cell, "--within": within},
        durations={
            "--longest": longest,
            "--gps-every": gps_every,
            "--update-every": update_every,
            "--fold": fold,
            "--busiest": busiest,
        },
        processing={
            "--processing": processing,
            "--update-processing": update_processing,
        },
        window=window,
        seed=seed,
        trips_columns=trips_columns,
        columns={
            "taxi": taxi_column,
            "pickup_time": pickup_time_column,
            "dropoff_time": dropoff_time_column,
            "pickup_lon": pickup_lon_column,
            "pickup_lat": pickup_lat_column,
            "dropoff_lon": dropoff_lon_column,
            "dropoff_lat": dropoff_lat_column,
            "pickup_zone": pickup_zone_column,
            "dropoff_zone": dropoff_zone_column,
        },
    )
    if trips:
        request.refuse_beside(
            {
                "--pairs": pairs,
                "--rates": rates,
                "--events": events,
                "--subscribers": subscribers,
                "--period": period,
                "--rate": rate,
                "--repeated-rates": repeated_rates,
                "--pairs-columns": pairs_columns,
                "--rates-columns": rates_columns,
                "--events-columns": events_columns,
                "--subscribers-columns": subscribers_columns,
            }
        )
        reading = Reading(header, format_, max_rejected, message_bytes)
        given = request.options(reading)
        ingest_trips(given, out, master=master, conf=conf, force=force, json=json)
        return
    request.refuse_alone()
    from brokerwise.pipeline.ingest.job import ingest as run
    from brokerwise.pipeline.ingest.options import REJECT, IngestOptions
    from brokerwise.storage.place import Place

    if by not in ("messages", "bytes"):
        raise InputError(f"--by: found {by!r}, expected messages or bytes")
    columns = {
        "topic": topic_column,
        "subscriber": subscriber_column,
        "rate": rate_column,
        "time": time_column,
        "bytes": bytes_column,
        "name": name_column,
    }
    options = IngestOptions(
        pairs=tuple(pairs or ()),
        rates=tuple(rates or ()),
        events=tuple(events or ()),
        subscribers=tuple(subscribers or ()),
        rate=rate,
        pairs_columns=parse_columns(pairs_columns, "--pairs-columns"),
        rates_columns=parse_columns(rates_columns, "--rates-columns"),
        events_columns=parse_columns(events_columns, "--events-columns"),
        subscribers_columns=parse_columns(subscribers_columns, "--subscribers-columns"),
        columns={r: tuple(c.split(",")) for r, c in columns.items() if c},
        header=header,
        format=format_,
        missing_rate=int(missing_rate) if missing_rate.isdecimal() else missing_rate,
        repeated_rates=repeated_rates or REJECT,
        max_rejected=parse_share(max_rejected, "--max-rejected"),
        period_seconds=parse_seconds(period, "--period") if period else None,
        message_bytes=(
            parse_bytes(message_bytes, "--message-bytes") if message_bytes else None
        ),
        by_bytes=by == "bytes",
    )
    settings = parse_conf(conf)
    progress = LiveProgress()
    ingested = run(
        options,
        Place(out),
        session=lambda: progress.session(master, settings),
        progress=progress,
        force=force,
    )
    seconds = {**progress.seconds, "total": progress.total}
    if json:
        print_json(_as_json(ingested, out, seconds))
    else:
        print_result(_as_text(ingested, out, seconds["total"]))


def _as_json(
    ingested: "Ingested", out: str, seconds: dict[str, float]
) -> dict[str, Any]:
    from brokerwise.storage.place import Place

    header = ingested.header
    return {
        "status": "done",
        "out": str(Place(out)),
        "topics": header.topics,
        "subscribers": header.subscribers,
        "pairs": header.pairs,
        "period_seconds": header.period_seconds,
        "period_days": header.period_seconds / _DAY,
        "message_bytes": header.message_bytes,
        "digest": header.digest,
        "columns": {kind: list(ways) for kind, ways in ingested.columns.items()},
        "rows": dict(ingested.rows),
        "events": ingested.events,
        "rejected": dict(ingested.rejected),
        "duplicate_pairs": ingested.duplicate_pairs,
        "duplicate_rates": ingested.duplicate_rates,
        "dropped_pairs": ingested.dropped_pairs,
        "dropped_subscribers": ingested.dropped_subscribers,
        "unwanted_topics": ingested.unwanted_topics,
        "seconds": seconds,
    }


def _as_text(ingested: "Ingested", out: str, seconds: float) -> str:
    from brokerwise.show.numbers import counted, significant

    header = ingested.header
    days = f"{significant(header.period_seconds / _DAY)} days"
    if "events" in ingested.rows:
        notes = [f"{counted(ingested.events, 'event')} in {days}"]
    else:
        notes = [f"rates per {days}"]
    notes.append(f"{counted(sum(ingested.rejected.values()), 'row')} rejected")
    if sum(ingested.rejected.values()):
        notes[-1] += f" (in {out}/rejected)"
    for count, what, why in (
        (ingested.duplicate_pairs, "duplicate pair", "merged"),
        (ingested.duplicate_rates, "duplicate rate", "merged"),
        (ingested.dropped_pairs, "pair", "dropped for want of a rate"),
        (ingested.dropped_subscribers, "subscriber", "dropped with all their pairs"),
        (ingested.unwanted_topics, "topic", "that nobody wants"),
    ):
        if count:
            notes.append(f"{counted(count, what)} {why}")
    return (
        f"{counted(header.pairs, 'pair')} of {counted(header.topics, 'topic')} and "
        f"{counted(header.subscribers, 'subscriber')}, {seconds:.1f} s\n"
        f"  {_columns_text(ingested)}\n"
        f"  {'; '.join(notes)}\n"
        f"Workload: {out} (digest {header.digest[:12]})\n"
        f"Next:     brokerwise profile {out}"
    )


def _columns_text(ingested: "Ingested") -> str:
    """`pairs (topic=followee, subscriber); rates (topic, rate)`: the columns of each
    kind of files, and of files that differ."""

    def way(taken: "Taken") -> str:
        return ", ".join(r if r == c else f"{r}={c}" for r, c in taken.items())

    return "; ".join(
        f"{kind} ({') or ('.join(way(taken) for taken in ways)})"
        for kind, ways in ingested.columns.items()
    )
