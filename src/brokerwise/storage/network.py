"""A network directory: read it, write it, its digest."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.network import Network, distances, shortest_paths
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.storage.digest import json_digest
from brokerwise.storage.header import parse_header
from brokerwise.storage.network_digests import network_digests
from brokerwise.storage.network_tables import (
    coordinate_names,
    read_brokers,
    read_costs,
    read_rates,
    read_users,
    read_wanted,
    write_costs,
    written_tables,
)
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import write_table

HEADER = "network.json"
FORMAT = 1
_DIGESTS = ("brokers", "users", "rates", "interests", "access", "core")
_TABLES = ("brokers", "users", "rates", "interests")

Costs = Literal["points", "table"]
"""Where costs come from: the distance of points, or a table of their own."""


@dataclass(frozen=True)
class NetworkHeader:
    """What `network.json` says.

    `rates` and `interests` count their entries. `coordinates` are the columns of
    points in the tables of brokers and users; `figures` is what was measured when the
    network was made.
    """

    users: int
    brokers: int
    subchannels: int
    rates: int
    interests: int
    period_seconds: int
    axes: tuple[Axis, ...]
    coordinates: tuple[str, ...]
    access: Costs
    core: Costs
    digests: Mapping[str, str]
    tables: Mapping[str, str]
    figures: Mapping[str, Any] = field(default_factory=dict)
    made_from: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.content_digest())

    def content_digest(self) -> str:
        """The digest of everything that a plan depends on."""
        return _content_digest(self.period_seconds, self.axes, self.digests)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def network_digest(network: Network) -> str:
    """The digest that a network in memory has, or would have, on disk."""
    axes = network.subchannels.axes
    return _content_digest(network.period_seconds, axes, network_digests(network))


def _content_digest(
    period_seconds: int, axes: tuple[Axis, ...], digests: Mapping[str, str]
) -> str:
    cuts = [[axis.attribute, list(axis.edges)] for axis in axes]
    return json_digest([period_seconds, cuts, dict(digests)])


def write_network(
    network: Network,
    place: Place,
    *,
    force: bool = False,
    made_from: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
) -> NetworkHeader:
    """Write a network from memory; it appears when it is complete."""
    output = Output.begin(place, HEADER, force=force)
    try:
        header = stage_network(output, network, made_from=made_from, figures=figures)
        output.commit(header.as_json())
    except BaseException:
        output.abort()
        raise
    return header


def stage_network(
    output: Output,
    network: Network,
    *,
    made_from: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
) -> NetworkHeader:
    """Write all but the header of a network.

    Costs that are the distances of its points, and no less, are not written.
    """
    tables = written_tables(network)
    files = {name: output.file(name) for name in tables}
    for name, table in tables.items():
        write_table(output.root / files[name], table)
    access, core = _access_source(network), _core_source(network)
    for name, owner, source in (("access", "user", access), ("core", "broker", core)):
        if source == "table":
            files[name] = output.file(name)
            costs = getattr(network, name)
            write_costs(output.root / files[name], owner, costs)
    return NetworkHeader(
        users=network.users,
        brokers=network.brokers,
        subchannels=len(network.subchannels),
        rates=len(network.published.rates),
        interests=len(network.wanted.subchannels),
        period_seconds=network.period_seconds,
        axes=network.subchannels.axes,
        coordinates=coordinate_names(network),
        access=access,
        core=core,
        digests=network_digests(network),
        tables=files,
        figures=dict(figures or {}),
        made_from=dict(made_from or {}),
    )


def read_network_header(place: Place) -> NetworkHeader:
    header = parse_header(
        place,
        HEADER,
        NetworkHeader,
        format=FORMAT,
        keys={"digests": _DIGESTS, "tables": _TABLES},
        hint="Make one with: brokerwise summarize ... or brokerwise generate network",
    )
    for name in ("access", "core"):
        if getattr(header, name) == "points":
            if not header.coordinates:
                raise InputError(
                    f"{place / HEADER}: {name} is by points, but there are no "
                    "coordinates"
                )
        elif name not in header.tables:
            raise InputError(f"{place / HEADER}: tables has no {name!r}")
    return header


def read_network(place: Place) -> Network:
    """The whole network in memory.

    Raises InputError, which names the file, for what cannot be used, and
    DigestMismatchError for a table that is not the one that was written.
    """
    header = read_network_header(place)
    try:
        network = _read(place, header)
    except InputError as cause:
        if cause.message.startswith(str(place)):
            raise
        raise InputError(f"{place}: {cause.message}", hint=cause.hint) from cause
    _verify(place, header, network)
    return network


def _read(place: Place, header: NetworkHeader) -> Network:
    files = {name: place / file for name, file in header.tables.items()}
    coordinates = header.coordinates
    broker_names, capacity, broker_points = read_brokers(files["brokers"], coordinates)
    user_names, user_points = read_users(files["users"], coordinates)
    users, brokers = len(user_names), len(broker_names)
    if header.access == "table":
        access = read_costs(files["access"], "user", users, brokers)
    else:
        access = distances(user_points, broker_points)
    if header.core == "table":
        core = read_costs(files["core"], "broker", brokers, brokers)
    else:
        core = shortest_paths(distances(broker_points, broker_points))
    return Network(
        capacity,
        access,
        core,
        read_rates(files["rates"], users),
        read_wanted(files["interests"], users),
        Subchannels(header.axes),
        user_names,
        broker_names,
        header.period_seconds,
        user_points if coordinates else None,
        broker_points if coordinates else None,
    )


def _verify(place: Place, header: NetworkHeader, network: Network) -> None:
    """Refuse files that are not those the header was written for."""
    counts = {
        "users": network.users,
        "brokers": network.brokers,
        "subchannels": len(network.subchannels),
        "rates": len(network.published.rates),
        "interests": len(network.wanted.subchannels),
    }
    for what, found in counts.items():
        stated = getattr(header, what)
        if found != stated:
            raise InputError(
                f"{place}: its files hold {found:,} {what}, {HEADER} says {stated:,}"
            )
    for name, digest in network_digests(network).items():
        if digest != header.digests[name]:
            file = place / header.tables.get(name, name)
            raise DigestMismatchError(str(file), digest, header.digests[name])
    if header.content_digest() != header.digest:
        raise DigestMismatchError(
            f"{place / HEADER}", header.content_digest(), header.digest
        )


def _access_source(network: Network) -> Costs:
    users, brokers = network.user_points, network.broker_points
    if users is None or brokers is None:
        return "table"
    same = np.array_equal(network.access, distances(users, brokers))
    return "points" if same else "table"


def _core_source(network: Network) -> Costs:
    points = network.broker_points
    if points is None:
        return "table"
    same = np.array_equal(network.core, shortest_paths(distances(points, points)))
    return "points" if same else "table"
