"""`brokerwise drain`."""

from typing import Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State, progress, with_state
from brokerwise.cli.options import Json
from brokerwise.cli.printable import printable
from brokerwise.cli.signals import run_until_told


def drain(
    broker: Annotated[str, typer.Argument(help="Its name, as status shows it.")],
    stop: Annotated[
        bool, typer.Option("--stop", help="Then end it; it stays out.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Put a drained broker back into service.")
    ] = False,
    state: State = DEFAULT_STATE,
    json: Json = False,
) -> None:
    """Move every session of a broker elsewhere, without loss.

    Nothing is placed on it any more, until --undo or a restart.

    \b
    Example:
      brokerwise drain b2 --stop
    """

    from brokerwise.model.errors import InputError
    from brokerwise.runtime.fleet.files import read_fleet
    from brokerwise.runtime.fleet.operator import Operator, drain_broker, session_count

    if stop and undo:
        raise InputError("--stop and --undo: only one of them")
    operator = Operator(read_fleet(state))
    moves = 0
    if undo:
        run_until_told(operator.activate(broker))
        text = f"{broker} is in service again."
    else:
        moves = run_until_told(drain_broker(operator, broker, stop=stop, tell=progress))
        gone = session_count(moves)
        back = with_state(f"brokerwise drain {broker} --undo", state)
        then = "has stopped." if stop else f"is empty.\nPut it back: {back}"
        text = f"{broker} {then}" if not moves else f"{gone} moved; {broker} {then}"
    if json:
        print_json({"broker": broker, "moves": moves, "stopped": stop})
    else:
        print_result(printable(text))
