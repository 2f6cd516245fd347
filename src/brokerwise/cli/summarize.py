"""`brokerwise summarize`."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Conf, Force, Json, Master, parse_conf
from brokerwise.model.errors import InputError
from brokerwise.model.units import parse_seconds, parse_share

if TYPE_CHECKING:
    from brokerwise.pipeline.summarize.job import SummarizeResult


def summarize(
    messages: Annotated[
        list[str],
        typer.Argument(help="Files of publisher,time[,size] and numeric attributes."),
    ],
    subscriptions: Annotated[
        str,
        typer.Option(help="A file of user, and <attribute>_low and _high for each."),
    ],
    brokers: Annotated[
        str, typer.Option(help="A file of name,capacity[,x,y,...][,site].")
    ],
    out: Annotated[str, typer.Option(help="The network directory to write.")],
    users: Annotated[
        str | None, typer.Option(help="A file of name[,x,y,...][,site][,brokers].")
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(help="Columns that tell the content. Default: those with ranges."),
    ] = None,
    subchannels: Annotated[
        str, typer.Option(help="Intervals of each attribute, or of all: 100,50 or 100.")
    ] = "100",
    cut: Annotated[
        str, typer.Option(help="Intervals of equal width, or of equal mass (messages).")
    ] = "width",
    space: Annotated[
        str | None,
        typer.Option(help="LOW:HIGH[,LOW:HIGH]. Default: the range of the messages."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="What rates count: messages or bytes.")
    ] = "messages",
    period: Annotated[
        str | None,
        typer.Option(help="What the rates are per, 10d: by default what they span."),
    ] = None,
    access: Annotated[
        str | None, typer.Option(help="A matrix of costs, users by brokers (CSV).")
    ] = None,
    core: Annotated[
        str | None, typer.Option(help="A matrix of costs between brokers (CSV).")
    ] = None,
    latency: Annotated[
        str | None, typer.Option(help="Or a matrix of latencies between sites (CSV).")
    ] = None,
    repair_triangle: Annotated[
        bool,
        typer.Option(
            "--repair-triangle",
            help="Let links between brokers cost what the cheapest way round does.",
        ),
    ] = False,
    traffic: Annotated[
        str | None,
        typer.Option(help="Also write what users receive from one another, here."),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Of messages and subscriptions: csv, tsv, jsonl or parquet. Default: "
            "by file name.",
        ),
    ] = None,
    max_rejected: Annotated[
        str, typer.Option(help="The share of messages that may be unusable.")
    ] = "1%",
    force: Force = False,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Make a network from message history: what is published and wanted where.

    Messages and subscriptions may be CSV, TSV, JSON lines or Parquet, plain or gzip.
    Links cost the distance of points x, y, ..., or what matrices say.

    \b
    Example:
      brokerwise summarize messages.csv --subscriptions ranges.csv \\
        --brokers brokers.csv --users users.csv --out out/network
    """
    from brokerwise.pipeline.networks.topology import NetworkFiles, read_topology
    from brokerwise.pipeline.summarize.job import summarize as run
    from brokerwise.pipeline.summarize.options import (
        SummarizeOptions,
        parse_intervals,
        parse_space,
    )
    from brokerwise.storage.place import Place

    if by not in ("messages", "bytes"):
        raise InputError(f"--by: found {by!r}, expected messages or bytes")
    options = SummarizeOptions(
        messages=tuple(messages),
        subscriptions=subscriptions,
        attributes=tuple(attributes.split(",")) if attributes is not None else (),
        subchannels=parse_intervals(subchannels),
        cut=cut,
        space=parse_space(space) if space is not None else None,
        by_bytes=by == "bytes",
        period_seconds=parse_seconds(period, "--period") if period else None,
        format=format_,
        max_rejected=parse_share(max_rejected, "--max-rejected"),
    )

    def place(path: str | None) -> Place | None:
        return None if path is None else Place(path)

    files = NetworkFiles(
        Place(brokers),
        place(users),
        place(access),
        place(core),
        place(latency),
        repair_triangle,
    )
    settings = parse_conf(conf)
    progress = LiveProgress()
    found = run(
        options,
        read_topology(files),
        Place(out),
        session=lambda: progress.session(master, settings),
        progress=progress,
        force=force,
        traffic=place(traffic),
    )
    seconds = {**progress.seconds, "total": progress.total}
    if json:
        print_json(_as_json(found, out, traffic, seconds))
    else:
        print_result(_as_text(found, out, traffic, by, seconds["total"]))


def _as_json(
    found: "SummarizeResult", out: str, traffic: str | None, seconds: dict[str, float]
) -> dict[str, Any]:
    header = found.header
    return {
        "status": "done",
        "out": out,
        "messages": found.messages,
        "rejected": found.rejected,
        "users": header.users,
        "brokers": header.brokers,
        "subchannels": header.subchannels,
        "axes": {axis.attribute: axis.intervals for axis in header.axes},
        "rates": header.rates,
        "interests": header.interests,
        "period_seconds": header.period_seconds,
        "deliveries": found.deliveries,
        "false_positive_share": found.false_positive_share,
        "traffic": traffic,
        "traffic_pairs": found.pairs,
        "digest": header.digest,
        "seconds": seconds,
    }


def _as_text(
    found: "SummarizeResult", out: str, traffic: str | None, by: str, seconds: float
) -> str:
    from brokerwise.show.numbers import counted

    header = found.header
    axes = " x ".join(f"{a.attribute} {a.intervals:,}" for a in header.axes)
    rejected = f"{counted(found.rejected, 'message')} rejected"
    if found.rejected:
        rejected += f" (in {out}/rejected)"
    cells = counted(header.subchannels, "sub-channel")
    lines = [
        f"{counted(found.messages, 'message')} of {counted(header.users, 'user')} make "
        f"{counted(header.rates, 'rate')} in {cells} ({axes}), {seconds:.1f} s",
        f"  deliveries by sub-channel: {found.deliveries:,}; "
        f"{100 * found.false_positive_share:.2f} % are beyond what users asked for",
        f"  {header.interests:,} interests, {counted(header.brokers, 'broker')}, rates "
        f"in {by} per {header.period_seconds:,} s; {rejected}",
    ]
    if traffic is not None:
        lines.append(f"Traffic: {traffic} ({found.pairs:,} pairs of users)")
    lines.append(f"Network: {out} (digest {header.digest[:12]})")
    lines.append(f"Next:    {shlex.join(['brokerwise', 'overlay', out])}")
    return "\n".join(lines)
