"""`brokerwise down`."""

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.options import Json
from brokerwise.cli.signals import run_until_told


def down(state: State = DEFAULT_STATE, json: Json = False) -> None:
    """End a fleet, and wait until nothing of it runs.

    \b
    Example:
      brokerwise down
    """

    from brokerwise.runtime.fleet.supervisor import stop_fleet

    stopped = run_until_told(stop_fleet(state))
    if json:
        print_json({"stopped": stopped.ran, "pid": stopped.pid})
    elif stopped.pid is None:
        print_result(f"No fleet runs in {state}.")
    elif not stopped.ran:
        print_result(
            f"The fleet of {state} had ended without a word (process {stopped.pid}); "
            "what it left is put away."
        )
    elif stopped.forced:
        print_result(
            f"The fleet of {state} did not end in time and was killed; "
            "nothing is left running."
        )
    else:
        print_result(f"The fleet of {state} has ended; nothing is left running.")
