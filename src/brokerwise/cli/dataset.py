"""`brokerwise dataset`."""

from pathlib import Path
from typing import Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.options import Json, on_this_disk
from brokerwise.cli.signals import run_until_told

dataset = typer.Typer(
    name="dataset",
    help="""What the data cluster keeps: made, looked at, dropped.

    \b
    Example:
      brokerwise dataset create reports --kind append --column id:string
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="Of the dataset.")]


@dataset.command()
def create(
    name: Annotated[str | None, typer.Argument(help="Of the dataset.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="append: channels see what is new; keyed: the latest of each key; "
            "static: all."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME:TYPE, string, long, double, boolean or timestamp; repeated."
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Of a keyed one: which column it is.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="All of it as JSON: name, kind, columns, key.", callback=on_this_disk
        ),
    ] = None,
    state: State = DEFAULT_STATE,
    json: Json = False,
) -> None:
    """Make a dataset.

    \b
    Examples:
      brokerwise dataset create reports --kind append \\
        --column id:string --column x:double --column at:timestamp
      brokerwise dataset create places --kind keyed --key user \\
        --column user:string --column x:double
      brokerwise dataset create --file shelters.json
    """
    from brokerwise.cli.data_asking import data_client
    from brokerwise.cli.dataset_request import DatasetRequest
    from brokerwise.cli.dataset_text import created_text

    made = DatasetRequest(name, kind, column or (), key, file).dataset()
    run_until_told(data_client(state).create_dataset(made))
    if json:
        print_json({"dataset": made.name, "kind": made.kind, "created": True})
    else:
        print_result(created_text(made, state))


@dataset.command("list")
def list_(state: State = DEFAULT_STATE, json: Json = False) -> None:
    """Which datasets there are.

    \b
    Example:
      brokerwise dataset list
    """
    from msgspec import to_builtins

    from brokerwise.cli.data_asking import data_client
    from brokerwise.cli.dataset_text import list_text

    found = run_until_told(data_client(state).datasets())
    if json:
        print_json({"datasets": [to_builtins(one) for one in found]})
    else:
        print_result(list_text(found))


@dataset.command()
def show(name: Name, state: State = DEFAULT_STATE, json: Json = False) -> None:
    """A dataset: its columns, how much is in it, what was kept aside and why.

    \b
    Example:
      brokerwise dataset show reports
    """
    from msgspec import to_builtins

    from brokerwise.cli.data_asking import data_client, find_dataset
    from brokerwise.cli.dataset_text import show_text

    found = run_until_told(find_dataset(data_client(state), name))
    if json:
        print_json(to_builtins(found))
    else:
        print_result(show_text(found))


@dataset.command()
def drop(name: Name, state: State = DEFAULT_STATE, json: Json = False) -> None:
    """Drop a dataset and all that is in it; not while a channel reads it.

    \b
    Example:
      brokerwise dataset drop reports
    """
    from brokerwise.cli.data_asking import data_client, find_dataset
    from brokerwise.cli.dataset_text import dropped_text
    from brokerwise.runtime.protocol.data import DatasetStatus

    client = data_client(state)

    async def work() -> DatasetStatus:
        found = await find_dataset(client, name)
        await client.drop_dataset(name)
        return found

    gone = run_until_told(work())
    if json:
        print_json({"dataset": name, "dropped": True})
    else:
        print_result(dropped_text(gone))
