"""`brokerwise publish`."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.fleet_user import (
    Literal,
    User,
    check_topics,
    client_of,
    login_name,
)
from brokerwise.cli.printable import printable
from brokerwise.cli.signals import run_until_told
from brokerwise.model.errors import BrokerwiseError

if TYPE_CHECKING:
    from brokerwise.runtime.client.client import Client

STDIN = "-"


def publish(
    topic: Annotated[str, typer.Argument()],
    data: Annotated[
        str, typer.Argument(help="JSON, or a text; - for lines of stdin.")
    ] = STDIN,
    user: User = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="The name that messages carry, USER/...; of several that publish as "
            "one user at once, each needs its own."
        ),
    ] = None,
    literal: Literal = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Send a message to all subscribers of a topic, or one for each line of stdin.

    What is not JSON is sent as a text. Returns when every broker of the topic has
    confirmed it.

    \b
    Examples:
      brokerwise publish news '{"a": 1}'
      tail -f app.log | brokerwise publish logs - --as app
    """
    check_topics([topic], literal)
    run_until_told(_publish(state, user or login_name(), source, topic, data))


async def _publish(
    state: Path, user: str, source: str | None, topic: str, data: str
) -> None:
    """Cancelling it loses what was not sent yet."""
    async with client_of(state, user, source) as client:
        sent = 0
        async for text in _texts(data):
            await client.publish(topic, read_data(text))
            sent += 1
        await client.flush()
        _report(topic, sent, client)


def read_data(text: str) -> Any:
    """The JSON that a text is, or else the text."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text


async def _texts(data: str) -> AsyncIterator[str]:
    if data != STDIN:
        yield data
        return
    async for line in lines_of_stdin():
        if line:
            yield line


async def lines_of_stdin() -> AsyncIterator[str]:
    """Lines as they come, without stopping anything else meanwhile."""
    from brokerwise.cli.standard_input import read_ready

    rest = b""
    while True:
        content = await read_ready(sys.stdin.fileno())
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r").decode(errors="replace")
        if not content:
            break
    if rest:
        yield rest.decode(errors="replace")


def _report(topic: str, sent: int, client: "Client") -> None:
    if client.unconfirmed:
        raise BrokerwiseError(
            f"{client.unconfirmed:,} of {sent:,} messages were not confirmed: "
            "a broker went away; they may have arrived or not"
        )
    what = "1 message" if sent == 1 else f"{sent:,} messages"
    text = f"published {what} to {topic}"
    if client.unrouted:
        text += f"; {client.unrouted:,} went nowhere: nobody is to get them"
    print_result(printable(text))
