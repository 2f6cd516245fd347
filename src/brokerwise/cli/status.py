"""`brokerwise status`."""

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.options import Json
from brokerwise.cli.signals import run_until_told


def status(state: State = DEFAULT_STATE, json: Json = False) -> None:
    """How a fleet is: its brokers, their sessions, their load.

    \b
    Example:
      brokerwise status
    """
    from dataclasses import asdict

    from brokerwise.cli.status_text import status_text
    from brokerwise.runtime.fleet.files import read_fleet
    from brokerwise.runtime.fleet.operator import Operator

    fleet = read_fleet(state)
    found = run_until_told(Operator(fleet).status())
    if json:
        about = {"coordinator": fleet.coordinator, "pid": fleet.pid}
        print_json({**asdict(found), **about, "state": str(state)})
    else:
        print_result(status_text(found, fleet))
