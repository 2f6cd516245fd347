"""Being a user of a live fleet on the command line: a client, and what it says."""

import asyncio
import getpass
from collections.abc import AsyncIterator, Callable, Sequence
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
At = Annotated[
    str | None,
    typer.Option(help="Where the user is, X,Y: for a fleet placed by distance."),
]
Literal = Annotated[
    bool,
    typer.Option(
        "--literal", help="Take a topic such as gps/* for its name, not a pattern."
    ),
]
LOOK_SECONDS = 0.5  # between two looks at whether the fleet is still there


class FleetEndedError(BrokerwiseError):
    """The fleet was taken down: nobody is there to connect to any more."""

    def __init__(self, state: Path) -> None:
        self.state = state
        super().__init__(f"the fleet of {state} has ended")


def login_name() -> str:
    """Who is at the keyboard; a machine may not know."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "someone"


def fleet_of(state: Path) -> "FleetFile":
    from brokerwise.runtime.fleet.files import read_fleet

    return read_fleet(state)


def check_topics(names: Sequence[str], literal: bool) -> None:
    """Raises PatternError for what looks like a pattern, unless that is meant."""
    from brokerwise.runtime.protocol.names import PatternError, refuse_patterns

    try:
        refuse_patterns(() if literal else names)
    except PatternError as error:
        error.hint = "If a topic is really called that: --literal"
        raise


@asynccontextmanager
async def client_of(
    state: Path,
    user: str,
    source: str | None = None,
    place: "Point | None" = None,
) -> "AsyncIterator[Client]":
    """A client that is registered with the fleet, and says on stderr how it fares.

    Raises FleetEndedError in the middle of what is done with it when the fleet is
    taken down. Topics are taken as they are: `check_topics` comes first.
    """
    from brokerwise.runtime.client.client import Client
    from brokerwise.runtime.client.coordinator import CoordinatorClient
    from brokerwise.runtime.net.tasks import together
    from brokerwise.runtime.net.tls import client_tls

    fleet = fleet_of(state)
    tls = client_tls(fleet.coordinator, fleet.authority)
    operator = CoordinatorClient(fleet.coordinator, fleet.operator_token, tls)
    token = await operator.register_user(user, place)
    async with Client(
        fleet.coordinator,
        user,
        token,
        source,
        fleet.authority,
        on_notice=_teller(),
        literal=True,
    ) as client:
        try:
            async with together() as group:
                watching = group.create_task(_watch(state, fleet))
                yield client
                watching.cancel()
        except BrokerwiseError as error:
            raise _with_hint(error) from error.__cause__


async def _watch(state: Path, fleet: "FleetFile") -> None:
    """Raises FleetEndedError when the fleet was taken down. One that crashed is
    waited for: its processes are started again."""
    from brokerwise.runtime.fleet.files import was_taken_down

    while not was_taken_down(state, fleet):
        await asyncio.sleep(LOOK_SECONDS)
    raise FleetEndedError(state)


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
        case events.SessionMoved(before, broker):
            return f"moved from {before} to {broker}"
        case events.Disconnected(broker, reason):
            return f"lost {broker} ({reason}): looking for a broker"
        case events.Retrying(reason):
            return f"trying again: {reason}"
        case events.RequestRefused(reason):
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
