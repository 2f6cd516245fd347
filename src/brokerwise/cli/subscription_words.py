"""What is subscribed to: words on the command line as topics and channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brokerwise.cli.fleet_options import progress
from brokerwise.cli.fleet_user import check_topics
from brokerwise.model.errors import BrokerwiseError, InputError

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.protocol.data import ChannelStatus


@dataclass(frozen=True)
class WantedChannel:
    channel: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    topics: tuple[str, ...] = ()
    channels: tuple[WantedChannel, ...] = ()


def parse_words(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names, and parameters, which are those of the one name then.

    Words with `=` behind a first one without are parameters. If the first has one, or
    is a channel's topic in full, all are names: a topic's name may have anything.
    """
    from brokerwise.runtime.protocol.names import is_channel

    first, *rest = words
    if "=" in first or is_channel(first) or not any("=" in word for word in rest):
        return tuple(words), {}
    parameters: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise InputError(
                f"found {word!r} among the parameters of channel {first!r}, expected "
                "KEY=VALUE",
                hint="Of several channels with parameters, each needs its own command.",
            )
        if key in parameters:
            raise InputError(f"parameter {key!r} is there twice")
        parameters[key] = value
    return (first,), parameters


async def wanted_of(
    fleet: "FleetFile", words: Sequence[str], literal: bool = False
) -> Wanted:
    """Decides what the words mean in a fleet: a name is a channel's if there is a
    channel of that name, else a topic's. Raises InputError for a channel that there
    is none of, for parameters that are not its, and, unless `literal`, for names that
    look like patterns."""
    names, parameters = parse_words(words)
    check_topics(names, literal)
    if parameters:
        return Wanted(channels=(await _with_parameters(fleet, names[0], parameters),))
    known = await _known(fleet, names)
    channels, topics = [], []
    for name in names:
        wanted = _in_full(name) or WantedChannel(name)
        if wanted.channel in known:
            _check(known[wanted.channel], wanted.parameters)
            channels.append(wanted)
        else:
            topics.append(name)
    return Wanted(tuple(topics), tuple(channels))


async def _with_parameters(
    fleet: "FleetFile", name: str, parameters: Mapping[str, str]
) -> WantedChannel:
    from brokerwise.cli.data_asking import find_channel
    from brokerwise.runtime.client.data_cluster import DataClient

    _check(await find_channel(DataClient.of(fleet), name), parameters)
    return WantedChannel(name, parameters)


async def _known(
    fleet: "FleetFile", names: Sequence[str]
) -> "dict[str, ChannelStatus]":
    """The channels that there are. Topics do not need the data cluster, so if it does
    not answer they are served all the same."""
    from brokerwise.runtime.client.data_cluster import DataClient

    if not fleet.data_cluster or not names:
        return {}
    try:
        channels = await DataClient.of(fleet).channels()
    except BrokerwiseError as error:
        progress(
            f"the data cluster does not answer ({error.message}): "
            f"{', '.join(names)} taken for topics"
        )
        return {}
    return {channel.name: channel for channel in channels}


def _in_full(name: str) -> WantedChannel | None:
    """A channel and its parameters, if that is what a topic says."""
    from brokerwise.runtime.protocol.names import is_channel, parse_channel_topic

    return WantedChannel(*parse_channel_topic(name)) if is_channel(name) else None


def _check(found: "ChannelStatus", parameters: Mapping[str, str]) -> None:
    from brokerwise.runtime.data_cluster.definitions import parameter_values
    from brokerwise.runtime.protocol.data import Channel, Column, ColumnType

    columns = tuple(Column(one.name, ColumnType(one.type)) for one in found.parameters)
    channel = Channel(found.name, found.sql, found.period, columns)
    try:
        parameter_values(channel, parameters)
    except InputError as error:
        given = "".join(f" {one.name}=..." for one in columns)
        error.hint = error.hint or f"As in: brokerwise subscribe {found.name}{given}"
        raise
