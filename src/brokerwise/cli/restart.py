"""`brokerwise restart`."""

import time
from typing import Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State, progress
from brokerwise.cli.options import Json
from brokerwise.cli.signals import run_until_told


def restart(
    brokers: Annotated[
        list[str] | None, typer.Argument(help="Which ones, in this order; all.")
    ] = None,
    state: State = DEFAULT_STATE,
    json: Json = False,
) -> None:
    """Restart brokers one by one, each when its sessions have moved away.

    Nothing is lost, nothing is shown twice.

    \b
    Example:
      brokerwise restart
    """

    from brokerwise.runtime.fleet.files import read_fleet
    from brokerwise.runtime.fleet.operator import (
        Operator,
        rolling_restart,
        session_count,
    )

    began = time.perf_counter()
    operator = Operator(read_fleet(state))
    moves = run_until_told(rolling_restart(operator, brokers or (), tell=progress))
    seconds = time.perf_counter() - began
    if json:
        print_json({"moves": moves, "seconds": {"total": round(seconds, 3)}})
        return
    count = len(moves)
    print_result(
        f"{count:,} broker{'' if count == 1 else 's'} restarted in {seconds:.1f} s; "
        f"{session_count(sum(moves.values()))} moved."
    )
