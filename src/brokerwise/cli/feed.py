"""`brokerwise feed`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import State
from brokerwise.cli.options import Json
from brokerwise.cli.signals import run_until_told
from brokerwise.runtime.fleet.files import DEFAULT_STATE

if TYPE_CHECKING:
    from brokerwise.cli.feed_source import FeedSource
    from brokerwise.runtime.client.data_cluster import DataClient, FeedResult


def feed(
    dataset: Annotated[str, typer.Argument()],
    file: Annotated[
        str, typer.Argument(help="Lines of JSON, plain or gzip; - for stdin.")
    ] = "-",
    rate: Annotated[
        str | None, typer.Option(help="So many records at most: 100/s, 90/min.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also if this file was fed before.")
    ] = False,
    state: State = DEFAULT_STATE,
    json: Json = False,
) -> None:
    """Feed records to a dataset: one JSON object a line.

    Returns when they are safe on the disk. Records that do not fit the dataset are
    kept aside there, with the reason. A file that has not changed is not fed twice
    within a day, so a command that failed can be repeated.

    \b
    Examples:
      brokerwise feed reports reports.ndjson
      tail -f app.ndjson | brokerwise feed events -
    """
    from brokerwise.cli.data_asking import data_client
    from brokerwise.cli.feed_source import FeedSource
    from brokerwise.cli.feed_text import feed_json, feed_text
    from brokerwise.model.units import parse_rate

    began = time.perf_counter()
    speed = None if rate is None else parse_rate(rate, "--rate")
    source = FeedSource(file)
    if again:
        import uuid

        source.identity = uuid.uuid4().hex
    client = data_client(state)
    result = run_until_told(_feed(client, dataset, source, speed))
    seconds = time.perf_counter() - began
    if json:
        print_json(feed_json(dataset, result, seconds))
    else:
        print_result(feed_text(dataset, result, seconds, Path(state)))


async def _feed(
    client: "DataClient", dataset: str, source: "FeedSource", rate: float | None
) -> "FeedResult":
    """Over one connection. Cancelling it leaves out what was not fed yet."""
    async with client:
        return await _feed_all(client, dataset, source, rate)


async def _feed_all(
    client: "DataClient", dataset: str, source: "FeedSource", rate: float | None
) -> "FeedResult":
    from brokerwise.cli.data_asking import find_dataset
    from brokerwise.cli.feed_progress import FeedProgress
    from brokerwise.runtime.client.data_cluster import Feed
    from brokerwise.runtime.net.errors import UnreachableError

    with FeedProgress(source) as shown:
        try:
            await find_dataset(client, dataset)
        except UnreachableError as error:
            shown.retrying(error)  # as below: it may be back in a moment
        feeding = Feed(
            client,
            dataset,
            source.identity,
            rate,
            on_batch=shown.show,
            on_retry=shown.retrying,
        )
        return await feeding.run(source.parts())
