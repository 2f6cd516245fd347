"""A fleet in words: one sentence, then its brokers."""

import time
from typing import TYPE_CHECKING

from brokerwise.cli.printable import printable
from brokerwise.cli.table import many, table

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.protocol.data import DataStatus
    from brokerwise.runtime.protocol.fleet import BrokerStatus, FleetStatus

_FAST = 20  # times its capacity: more than a broker would be asked for
_HEADS = ("broker", "state", "sessions", "topics", "messages/s", "load")


def status_text(
    status: "FleetStatus", fleet: "FleetFile", data: "DataStatus | str" = ""
) -> str:
    """`data` is the data cluster's, or why it cannot be had."""
    rows = [_row(b, status.period_seconds) for b in status.brokers if _counts(b)]
    about = [f"coordinator {fleet.coordinator}", _placing(status)]
    lines = [_sentence(status), *table([_HEADS, *rows]), "; ".join(about)]
    if status.balancer:
        lines.append(f"balancer: {status.balancer}")
    if fleet.data_cluster:
        lines.append(f"data cluster {fleet.data_cluster}; {data_text(data)}")
    return printable("\n".join(lines))


def data_text(data: "DataStatus | str") -> str:
    """What there is, who wants it, and what went wrong."""
    if isinstance(data, str):
        return f"no answer: {data}"
    parts = [
        f"{many(data.datasets, 'dataset')}, {many(data.channels, 'channel')}",
        f"{many(data.frontends, 'subscription')} of users ({data.online:,} online), "
        f"{data.subscriptions:,} different",
        f"Spark is {data.spark} ({data.master}, {data.spark_cpu_seconds:,.0f} CPU s)",
    ]
    if data.skipped:
        parts.append(f"{many(data.skipped, 'beat')} skipped")
    if data.set_aside:
        parts.append(f"{many(data.set_aside, 'segment')} set aside")
    return "; ".join(parts)


def _sentence(status: "FleetStatus") -> str:
    """What an operator asks first: is all well, and how much goes on?"""
    known = [b for b in status.brokers if _counts(b)]
    up = [b for b in known if b.state == "up"]
    stopped = [b.broker for b in status.brokers if not _counts(b)]
    sessions = sum(b.sessions for b in known if not b.gone)
    rate = sum(b.load_per_second for b in known if not b.gone)
    moving = status.moves_under_way
    parts = [
        _brokers_up(len(up), len(known)),
        *(_missing(b) for b in known if b.state != "up"),
        *([f"stopped: {', '.join(stopped)}"] if stopped else []),
        f"{many(sessions, 'session')}, {rate:,.0f} messages/s",
        *([f"{many(moving, 'session')} on the move"] if moving else []),
    ]
    return "; ".join(parts) + "."


def _counts(broker: "BrokerStatus") -> bool:
    """One that was told to stop, and has, is no part of the fleet any more."""
    return broker.state != "stopped"


def _brokers_up(up: int, known: int) -> str:
    if not known:
        return "No broker has registered yet"
    if up == known:
        return f"All {known:,} brokers are up" if known > 1 else "The broker is up"
    return f"{up:,} of {many(known, 'broker')} {'is' if up == 1 else 'are'} up"


def _missing(broker: "BrokerStatus") -> str:
    since = f" since {_clock(broker.since)}" if broker.since else ""
    return f"{broker.broker} is {broker.state}{since}"


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _row(broker: "BrokerStatus", period_seconds: int) -> tuple[str, ...]:
    return (
        broker.broker,
        broker.state,
        f"{broker.sessions:,}",
        f"{broker.topics:,}",
        f"{broker.load_per_second:,.0f}",
        _load(broker, period_seconds),
    )


def _load(broker: "BrokerStatus", period_seconds: int) -> str:
    """Capacity is messages a period, load is measured in messages a second."""
    if not broker.capacity or not period_seconds:
        return "-"
    room = broker.capacity / period_seconds
    shown = f"{room:,.0f}" if room >= 10 else f"{room:.2g}"
    share = broker.load_per_second / room
    if share >= _FAST:  # a replay, at many times real time
        return f"{share:,.0f} times {shown}/s"
    return f"{share:.0%} of {shown}/s"


def _placing(status: "FleetStatus") -> str:
    if not status.plan:
        return f"users are placed by {status.placement}"
    return f"runs {status.plan} ({status.kind}, digest {status.digest[:12]})"
