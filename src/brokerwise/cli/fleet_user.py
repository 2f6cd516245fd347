"""Being a user of a live fleet on the command line: a client, and what it says."""

import getpass
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.fleet_options import progress
from brokerwise.model.errors import BrokerwiseError

if TYPE_CHECKING:
    from brokerwise.cli.points import Point
    from brokerwise.runtime.client.client import Client
    from brokerwise.runtime.client.events import GapTold, Notice
    from brokerwise.runtime.fleet.files import FleetFile

User = Annotated[str | None, typer.Option("--as", help="The user to be.")]


def login_name() -> str:
    """Who is at the keyboard; a machine may not know."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "someone"


def fleet_of(state: Path) -> "FleetFile":
    from brokerwise.runtime.fleet.files import read_fleet

    return read_fleet(state)


@asynccontextmanager
async def client_of(
    fleet: "FleetFile",
    user: str,
    source: str | None = None,
    place: "Point | None" = None,
) -> "AsyncIterator[Client]":
    """A client that is registered with the fleet, and says on stderr how it fares."""
    from brokerwise.runtime.client.client import Client
    from brokerwise.runtime.client.coordinator import Coordinator
    from brokerwise.runtime.tls import client_tls

    tls = client_tls(fleet.coordinator, fleet.authority)
    operator = Coordinator(fleet.coordinator, fleet.operator_token, tls)
    token = await operator.register_user(user, place)
    async with Client(
        fleet.coordinator,
        user,
        token,
        source,
        fleet.authority,
        on_notice=_teller(),
    ) as client:
        try:
            yield client
        except BrokerwiseError as error:
            raise _with_hint(error) from error.__cause__


def _teller() -> "Callable[[Notice], None]":
    """Says what happens, but not the same twice in a row."""
    last: str | None = None

    def tell(notice: "Notice") -> None:
        nonlocal last
        text = notice_text(notice)
        if text != last:
            progress(text)
        last = text

    return tell


def notice_text(notice: "Notice") -> str:
    from brokerwise.runtime.client import events

    match notice:
        case events.Connected(broker, topics):
            return f"connected to {broker}: {_counted(topics, 'topic')}"
        case events.Moved(before, broker):
            return f"moved from {before} to {broker}"
        case events.Disconnected(broker, reason):
            return f"lost {broker} ({reason}): looking for a broker"
        case events.Retrying(reason):
            return f"trying again: {reason}"
        case events.Refused(reason):
            return f"refused: {reason}"


def gap_text(gap: "GapTold") -> str:
    missing = "some messages"
    if gap.missing is not None:
        missing = _counted(gap.missing, "message")
    return f"missed {missing} of {gap.source} on {gap.topic}"


def _with_hint(error: BrokerwiseError) -> BrokerwiseError:
    """An error about who we are says how to be someone else."""
    from brokerwise.runtime.client import errors

    if isinstance(
        error, errors.NotInPlanError | errors.NoBrokerError | errors.ReplacedError
    ):
        error.hint = "Name the user to be: --as USER"
    return error


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
