"""`brokerwise ingest`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Conf, Force, Json, Master, parse_conf
from brokerwise.model.errors import InputError
from brokerwise.model.units import parse_bytes, parse_seconds, parse_share

if TYPE_CHECKING:
    from brokerwise.pipeline.ingest.job import Ingested

_COLUMN = "Its column: a name or a number from 1; with commas, the first a file has."


def ingest(
    pairs: Annotated[list[str], typer.Option(help="Files of pairs: topic,subscriber.")],
    out: Annotated[str, typer.Option(help="The workload directory to write.")],
    rates: Annotated[
        list[str] | None, typer.Option(help="Files of rates: topic,rate.")
    ] = None,
    events: Annotated[
        list[str] | None,
        typer.Option(help="Or files of events to count: topic,time[,bytes]."),
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
    topic_column: Annotated[str | None, typer.Option(help=_COLUMN)] = None,
    subscriber_column: Annotated[str | None, typer.Option(help=_COLUMN)] = None,
    rate_column: Annotated[str | None, typer.Option(help=_COLUMN)] = None,
    time_column: Annotated[str | None, typer.Option(help=_COLUMN)] = None,
    bytes_column: Annotated[str | None, typer.Option(help=_COLUMN)] = None,
    name_column: Annotated[
        str | None, typer.Option(help="In --subscribers files. " + _COLUMN)
    ] = None,
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
    max_rejected: Annotated[
        str, typer.Option(help="The share of rows that may be unusable.")
    ] = "1%",
    force: Force = False,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Make a workload from raw files: pairs, and rates or events.

    Files may be CSV, TSV, whitespace edge lists, JSON lines or Parquet, plain or
    gzip; each option takes files, directories and patterns and may be repeated.

    Example:

    brokerwise ingest --pairs follows.csv --rates rates.csv --out out/workload
    """
    from brokerwise.pipeline.ingest.job import ingest as run
    from brokerwise.pipeline.ingest.options import IngestOptions
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
        pairs=tuple(pairs),
        rates=tuple(rates or ()),
        events=tuple(events or ()),
        subscribers=tuple(subscribers or ()),
        columns={r: tuple(c.split(",")) for r, c in columns.items() if c},
        header=header,
        format=format_,
        missing_rate=int(missing_rate) if missing_rate.isdecimal() else missing_rate,
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
    header = ingested.header
    return {
        "status": "done",
        "out": str(Path(out)) if "://" not in out else out,
        "topics": header.topics,
        "subscribers": header.subscribers,
        "pairs": header.pairs,
        "period_seconds": header.period_seconds,
        "message_bytes": header.message_bytes,
        "digest": header.digest,
        "rows": dict(ingested.rows),
        "rejected": dict(ingested.rejected),
        "duplicate_pairs": ingested.duplicate_pairs,
        "duplicate_rates": ingested.duplicate_rates,
        "dropped_pairs": ingested.dropped_pairs,
        "seconds": seconds,
    }


def _as_text(ingested: "Ingested", out: str, seconds: float) -> str:
    from brokerwise.report.numbers import counted

    header = ingested.header
    notes = [f"{counted(sum(ingested.rejected.values()), 'row')} rejected"]
    if sum(ingested.rejected.values()):
        notes[0] += f" (in {out}/rejected)"
    for count, what, why in (
        (ingested.duplicate_pairs, "duplicate pair", "merged"),
        (ingested.duplicate_rates, "duplicate rate", "merged"),
        (ingested.dropped_pairs, "pair", "dropped for want of a rate"),
    ):
        if count:
            notes.append(f"{counted(count, what)} {why}")
    return (
        f"{counted(header.pairs, 'pair')} of {counted(header.topics, 'topic')} and "
        f"{counted(header.subscribers, 'subscriber')}, {seconds:.1f} s\n"
        f"  {'; '.join(notes)}\n"
        f"Workload: {out} (digest {header.digest[:12]})\n"
        f"Next:     brokerwise profile {out}"
    )
