"""`brokerwise token`."""

from typing import Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.fleet_user import At, fleet_of
from brokerwise.cli.options import Json
from brokerwise.cli.points import parse_point
from brokerwise.cli.signals import run_until_told


def token(
    user: Annotated[str, typer.Argument(metavar="USER")],
    at: At = None,
    state: State = DEFAULT_STATE,
    json: Json = False,
) -> None:
    """Print the token with which a user connects to a running fleet.

    It is the same each time. Whoever has it is that user, so pass it on to nobody
    else. With --json: all that a client is opened with, brokerwise.Client(**these).

    \b
    Examples:
      brokerwise token ann
      brokerwise token ann --json > ann.json
    """
    from brokerwise.runtime.fleet.operator import Operator

    place = None if at is None else parse_point("--at", at)
    fleet = fleet_of(state)
    found = run_until_told(Operator(fleet).register(user, place))
    if json:
        print_json(
            {
                "coordinator_url": fleet.coordinator,
                "user": user,
                "token": found,
                "authority": fleet.authority or None,
            }
        )
    else:
        print_result(found)
