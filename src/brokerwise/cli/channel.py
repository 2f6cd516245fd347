"""`brokerwise channel`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State, progress
from brokerwise.cli.options import Json, local_path
from brokerwise.cli.signals import run_until_told
from brokerwise.model.errors import InputError

channel = typer.Typer(
    name="channel",
    help="""Questions that the data cluster asks again and again, for all subscribers.

    \b
    Example:
      brokerwise channel create fires --sql fires.sql --period 10s \\
        --parameter cell:string
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="Of the channel.")]


@channel.command()
def create(
    name: Name,
    sql: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="A SELECT, with parameters as :name; - for stdin."
        ),
    ],
    period: Annotated[str, typer.Option(help="How often it is asked: 10s, 5min.")],
    parameter: Annotated[
        list[str] | None,
        typer.Option(help="NAME:TYPE that a subscriber gives a value for; repeated."),
    ] = None,
    state: State = DEFAULT_STATE,
    json: Json = False,
) -> None:
    """Make a channel, once its SQL has been found good.

    It begins with the records that come from now on. What SQL may say is in
    docs/data.md.

    \b
    Example:
      brokerwise channel create fires --sql fires.sql --period 10s \\
        --parameter cell:string
    """
    from msgspec import to_builtins

    from brokerwise.cli.channel_text import created_text
    from brokerwise.cli.data_asking import data_client
    from brokerwise.cli.typed_columns import parse_columns
    from brokerwise.model.units import parse_seconds
    from brokerwise.runtime.protocol.data import Channel, ChannelStatus

    parameters = parse_columns("--parameter", parameter or ())
    seconds = parse_seconds(period, "--period")
    made = Channel(name, _read_sql(sql), float(seconds), parameters)
    client = data_client(state)

    async def work() -> ChannelStatus:
        if (await client.status()).spark != "up":
            progress("Spark is still starting; waiting for it ...")
        await client.create_channel(made)
        return await client.channel(name)

    found = run_until_told(work())
    if json:
        print_json({"created": True, **to_builtins(found)})
    else:
        print_result(created_text(found, state))


@channel.command("list")
def list_(state: State = DEFAULT_STATE, json: Json = False) -> None:
    """Which channels there are, and who wants them.

    \b
    Example:
      brokerwise channel list
    """
    from msgspec import to_builtins

    from brokerwise.cli.channel_text import list_text
    from brokerwise.cli.data_asking import data_client

    found = run_until_told(data_client(state).channels())
    if json:
        print_json({"channels": [to_builtins(one) for one in found]})
    else:
        print_result(list_text(found))


@channel.command()
def show(name: Name, state: State = DEFAULT_STATE, json: Json = False) -> None:
    """A channel: its SQL, its last runs, what it could not process and why.

    \b
    Example:
      brokerwise channel show fires
    """
    from msgspec import to_builtins

    from brokerwise.cli.channel_text import show_text
    from brokerwise.cli.data_asking import data_client, find_channel

    found = run_until_told(find_channel(data_client(state), name))
    if json:
        print_json(to_builtins(found))
    else:
        print_result(show_text(found))


@channel.command()
def drop(name: Name, state: State = DEFAULT_STATE, json: Json = False) -> None:
    """Drop a channel, its subscriptions and its results.

    \b
    Example:
      brokerwise channel drop fires
    """
    from brokerwise.cli.channel_text import dropped_text
    from brokerwise.cli.data_asking import data_client, find_channel
    from brokerwise.runtime.protocol.data import ChannelStatus

    client = data_client(state)

    async def work() -> ChannelStatus:
        found = await find_channel(client, name)
        await client.drop_channel(name)
        return found

    gone = run_until_told(work())
    if json:
        print_json({"channel": name, "dropped": True})
    else:
        print_result(dropped_text(gone))


def _read_sql(source: str) -> str:
    try:
        content = (
            sys.stdin.read()
            if source == "-"
            else local_path(Path(source)).read_text("utf-8")
        )
    except OSError as cause:
        hint = "--sql names a file that holds it." if " " in source.strip() else ""
        raise InputError(
            f"--sql: cannot read {source}: {cause.strerror}", hint=hint
        ) from cause
    except UnicodeError as cause:
        raise InputError(f"--sql: {source} is not UTF-8 text: {cause}") from cause
    if not content.strip():
        raise InputError(f"--sql: {source} is empty")
    return content
