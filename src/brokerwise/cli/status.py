"""`brokerwise status`."""

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.options import Json
from brokerwise.cli.signals import run_until_told


def status(state: State = DEFAULT_STATE, json: Json = False) -> None:
    """How a fleet is: its brokers, their sessions, their load, its data cluster.

    \b
    Example:
      brokerwise status
    """
    from dataclasses import asdict

    from brokerwise.cli.data_asking import data_status
    from brokerwise.cli.status_text import status_text
    from brokerwise.runtime.fleet.files import read_fleet
    from brokerwise.runtime.fleet.operator import Operator

    fleet = read_fleet(state)
    found = run_until_told(Operator(fleet).status())
    data = run_until_told(data_status(fleet)) if fleet.data_cluster else ""
    if not json:
        print_result(status_text(found, fleet, data))
        return
    about = {"coordinator": fleet.coordinator, "pid": fleet.pid, "state": str(state)}
    if fleet.data_cluster:
        known = {"error": data} if isinstance(data, str) else asdict(data)
        about["data_cluster"] = {"url": fleet.data_cluster, "data": fleet.data, **known}
    print_json({**asdict(found), **about})
