"""`brokerwise status`."""

from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.options import Json
from brokerwise.cli.signals import run_until_told

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.protocol.fleet import FleetStatus


def status(
    state: State = DEFAULT_STATE,
    topics: Annotated[
        bool,
        typer.Option("--topics", help="Topics instead: where, how many, how late."),
    ] = False,
    json: Json = False,
) -> None:
    """How a fleet is: its brokers, their sessions, their load, its data cluster.

    With --topics: each topic on each broker that carries it, its latencies, and, in a
    fleet that runs a co-location plan, whether it meets its target.

    \b
    Example:
      brokerwise status
    """
    from msgspec import to_builtins

    from brokerwise.cli.data_asking import data_status
    from brokerwise.cli.status_text import status_text
    from brokerwise.runtime.fleet.files import read_fleet
    from brokerwise.runtime.fleet.operator import Operator

    fleet = read_fleet(state)
    found = run_until_told(Operator(fleet).status())
    if topics:
        _print_topics(fleet, found, json)
        return
    data = run_until_told(data_status(fleet)) if fleet.data_cluster else ""
    if not json:
        print_result(status_text(found, fleet, data))
        return
    about = {"coordinator": fleet.coordinator, "pid": fleet.pid, "state": str(state)}
    if fleet.data_cluster:
        known = {"error": data} if isinstance(data, str) else to_builtins(data)
        about["data_cluster"] = {"url": fleet.data_cluster, "data": fleet.data, **known}
    print_json({**to_builtins(found), **about})


def _print_topics(fleet: "FleetFile", status: "FleetStatus", json: bool) -> None:
    from dataclasses import asdict

    from brokerwise.cli.topics_text import topics_text
    from brokerwise.runtime.fleet.operator import topic_statuses

    found = run_until_told(topic_statuses(fleet, status.brokers))
    if json:
        print_json({"topics": [{**asdict(t), "met": t.met} for t in found]})
    else:
        print_result(topics_text(found))
