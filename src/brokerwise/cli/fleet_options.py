"""Options that the commands of a live fleet share."""

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from brokerwise.cli.options import on_this_disk
from brokerwise.cli.printable import printable
from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.files import DEFAULT_STATE as DEFAULT_STATE

State = Annotated[
    Path,
    typer.Option(
        help="The fleet's directory: addresses, tokens, logs.", callback=on_this_disk
    ),
]


def with_state(command: str, state: Path) -> str:
    """A command to try next, on the same fleet."""
    return (
        command if state == DEFAULT_STATE else f"{command} --state {quote(str(state))}"
    )


def progress(line: str) -> None:
    sys.stderr.write(printable(f"{line}\n"))
    sys.stderr.flush()


def check_host(host: str) -> None:
    """Raises InputError for what is no address of this machine."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, 0), family=family).close()
    except (OSError, UnicodeError) as cause:
        reason = str(getattr(cause, "strerror", cause)).partition(" (while")[0]
        raise InputError(
            f"--host: found {host!r}, expected an address of this machine: {reason}"
        ) from cause
