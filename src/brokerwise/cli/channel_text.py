"""Channels in words."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.cli.fleet_options import with_state
from brokerwise.cli.printable import printable
from brokerwise.cli.table import many, size, table

if TYPE_CHECKING:
    from brokerwise.runtime.protocol.data import ChannelStatus, ColumnInfo, Run

_HEADS = (
    "channel",
    "parameters",
    "every",
    "subscriptions",
    "of users",
    "runs",
    "skipped",
    "set aside",
)
_RUN_HEADS = (
    "run",
    "started",
    "seconds",
    "segments",
    "subscriptions",
    "results",
    "size",
)
_UNKNOWN = "columns that are not known before Spark is up"


def created_text(channel: "ChannelStatus", state: Path) -> str:
    values = "".join(f" {one.name}=..." for one in channel.parameters)
    subscribe = with_state(f"brokerwise subscribe {channel.name}{values}", state)
    lines = [
        f"Channel {channel.name} is there: asked every {channel.period:g} s, of "
        f"{_listed(channel.datasets)}.",
        f"  a result has  {_typed(channel.columns, _UNKNOWN)}",
        f"  parameters    {_typed(channel.parameters, 'none')}",
        f"Subscribe: {subscribe}",
    ]
    return printable("\n".join(lines))


def list_text(channels: Sequence["ChannelStatus"]) -> str:
    if not channels:
        return "No channels yet.\nMake one: brokerwise channel create --help"
    rows = [
        (
            one.name,
            ", ".join(p.name for p in one.parameters) or "-",
            f"{one.period:g} s",
            f"{one.subscriptions:,}",
            f"{one.frontends:,}",
            f"{one.runs:,}",
            f"{one.skipped:,}",
            f"{one.set_aside_count:,}",
        )
        for one in channels
    ]
    users = sum(one.frontends for one in channels)
    different = sum(one.subscriptions for one in channels)
    first = (
        f"{many(len(channels), 'channel')}; {many(users, 'subscription')} of users, "
        f"{different:,} different."
    )
    stopped = [f"{c.name} does not run: {c.suspended}" for c in channels if c.suspended]
    return printable("\n".join([first, *table([_HEADS, *rows]), *stopped]))


def show_text(channel: "ChannelStatus") -> str:
    first = (
        f"{channel.name}: asked every {channel.period:g} s, of "
        f"{_listed(channel.datasets)}; {many(channel.frontends, 'subscription')} of "
        f"users, {channel.subscriptions:,} different."
    )
    stopped = [f"It does not run: {channel.suspended}"] if channel.suspended else []
    lines = [
        first,
        *stopped,
        f"  a result has  {_typed(channel.columns, _UNKNOWN)}",
        f"  parameters    {_typed(channel.parameters, 'none')}",
        *(f"    {line}" for line in channel.sql.strip().splitlines()),
        f"{many(channel.runs, 'run')}, {many(channel.skipped, 'beat')} skipped, "
        f"{many(channel.set_aside_count, 'segment')} set aside.",
        *_runs(channel.last_runs),
        *_set_aside(channel),
    ]
    return printable("\n".join(lines))


def dropped_text(channel: "ChannelStatus") -> str:
    subscriptions = many(channel.frontends, "subscription")
    return f"Channel {channel.name} is gone, with {subscriptions} of users."


def _runs(runs: Sequence["Run"]) -> list[str]:
    rows = [
        (
            f"{run.run:,}",
            _clock(run.started),
            f"{run.seconds:.2f}",
            f"{run.first_segment:,}-{run.last_segment:,}",
            f"{run.subscriptions:,}",
            f"{run.rows:,}",
            size(run.bytes),
        )
        for run in runs
    ]
    return table([_RUN_HEADS, *rows], names=0) if rows else []


def _set_aside(channel: "ChannelStatus") -> Iterable[str]:
    if channel.set_aside:
        yield "Set aside, the newest first:"
    for one in channel.set_aside:
        of = f" of {one.dataset}" if one.dataset else ""
        first, *rest = one.reason.splitlines() or [""]
        yield f"  {_clock(one.at)}  segment {one.segment:,}{of}: {first}"
        yield from (f"    {line}" for line in rest)


def _typed(columns: Sequence["ColumnInfo"], otherwise: str) -> str:
    return ", ".join(f"{one.name} {one.type}" for one in columns) or otherwise


def _listed(names: Sequence[str]) -> str:
    *first, last = names or ("nothing",)
    return f"{', '.join(first)} and {last}" if first else last


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))
