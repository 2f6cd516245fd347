"""Users, brokers and their links from the files that people have."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.pipeline.network_files import Members, read_brokers, read_users
from brokerwise.pipeline.network_links import (
    Links,
    links_from_latency,
    links_from_matrices,
    links_from_points,
)
from brokerwise.pipeline.network_matrix import (
    CostMatrix,
    read_cost_matrix,
    read_latency,
)
from brokerwise.storage.place import Place


@dataclass(frozen=True)
class NetworkFiles:
    """Who there is, and what tells the costs of links.

    Costs come from `access` and `core` matrices, or from a `latency` matrix and
    columns `site`, or else from columns x, y, ... of users and brokers. With `repair`,
    links between brokers cost what the cheapest way round does. Without `users`, they
    are those of the access matrix.
    """

    brokers: Place
    users: Place | None = None
    access: Place | None = None
    core: Place | None = None
    latency: Place | None = None
    repair: bool = False

    def __post_init__(self) -> None:
        if (self.access is None) != (self.core is None):
            found = "--core" if self.access is None else "--access"
            raise InputError(f"expected --access and --core together, found {found}")
        if self.latency is not None and self.access is not None:
            raise InputError(
                "expected either --latency or --access and --core, found both"
            )
        if self.users is None and self.access is None:
            raise InputError(
                "expected --users FILE, which says where each user is, or --access "
                "and --core; found neither"
            )


@dataclass(frozen=True, eq=False)
class Topology:
    """Users, brokers, and what the links between them cost."""

    users: Members
    brokers: Members
    links: Links


def read_topology(files: NetworkFiles) -> Topology:
    """Users, brokers and what the links between them cost, all checked."""
    brokers = read_brokers(files.brokers)
    users = read_users(files.users) if files.users is not None else None
    if files.access is not None and files.core is not None:
        access = read_cost_matrix(files.access)
        users = users or _rows_as_users(access)
        core = read_cost_matrix(files.core)
        links = links_from_matrices(access, core, users, brokers, files.repair)
        return Topology(users, brokers, links)
    if users is None:
        raise InputError("expected --users FILE")
    if files.latency is not None:
        latency = read_latency(files.latency)
        links = links_from_latency(latency, users, brokers, files.repair)
        return Topology(users, brokers, links)
    return Topology(users, brokers, links_from_points(users, brokers))


def _rows_as_users(access: CostMatrix) -> Members:
    if not access.named:
        raise InputError(
            f"{access.file} has no names of users; expected them in its first column",
            hint="Or list the users, in that order, with --users.",
        )
    order = sorted(range(len(access.rows)), key=lambda n: access.rows[n].encode())
    names = Names.of(access.rows[number] for number in order)
    return Members(
        access.file,
        names,
        tuple(access.lines[number] for number in order),
        np.zeros(len(order), np.int64),
    )
