"""Asking the data cluster of a fleet, from the command line."""

from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.model.errors import BrokerwiseError

if TYPE_CHECKING:
    from brokerwise.runtime.client.data_cluster import DataClient, DataRefusedError
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.protocol.data import (
        ChannelStatus,
        DatasetStatus,
        DataStatus,
    )

_NOT_FOUND = 404


def data_client(state: Path) -> "DataClient":
    """Raises InputError if no fleet runs there, or one without a data cluster."""
    from brokerwise.runtime.client.data_cluster import DataClient
    from brokerwise.runtime.fleet.files import read_fleet

    return DataClient.of(read_fleet(state))


async def data_status(fleet: "FleetFile") -> "DataStatus | str":
    """How a fleet's data cluster is, or why that cannot be had now."""
    from brokerwise.runtime.client.data_cluster import DataClient

    try:
        return await DataClient.of(fleet).status()
    except BrokerwiseError as error:
        return error.message


async def find_dataset(client: "DataClient", name: str) -> "DatasetStatus":
    """Raises InputError, which says which there are, if it is not one of them."""
    from brokerwise.runtime.client.data_cluster import DataRefusedError
    from brokerwise.runtime.protocol.data import check_name

    check_name("dataset", name)
    try:
        return await client.dataset(name)
    except DataRefusedError as error:
        known = [] if _is_there(error) else [d.name for d in await client.datasets()]
        raise _naming(error, "Datasets", known) from error.__cause__


async def find_channel(client: "DataClient", name: str) -> "ChannelStatus":
    """Raises InputError, which says which there are, if it is not one of them."""
    from brokerwise.runtime.client.data_cluster import DataRefusedError
    from brokerwise.runtime.protocol.data import check_name

    check_name("channel", name)
    try:
        return await client.channel(name)
    except DataRefusedError as error:
        known = [] if _is_there(error) else [c.name for c in await client.channels()]
        raise _naming(error, "Channels", known) from error.__cause__


def _is_there(error: "DataRefusedError") -> bool:
    return error.status != _NOT_FOUND


def _naming(
    error: "DataRefusedError", what: str, known: list[str]
) -> "DataRefusedError":
    if not _is_there(error):
        some = f"{what}: {', '.join(known)}"
        error.hint = some if known else f"{what}: there are none yet."
    return error
