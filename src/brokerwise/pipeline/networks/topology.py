"""Users, brokers and what their links cost, from the files that people have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.network import (
    MOST_COST,
    OUT_OF_REACH,
    check_core,
    cost_units,
    distances,
    shortest_paths,
)
from brokerwise.pipeline.networks.files import (
    CostMatrix,
    Members,
    matched,
    read_brokers,
    read_cost_matrix,
    read_latency,
    read_users,
)
from brokerwise.storage.place import Place

NO_WAY = 2**60
"""The cost of a link that is not there, in thousandths; two of them still add up."""
REPAIR_HINT = (
    "Let links cost what the cheapest way round does, with --repair-triangle, or mend "
    "the file."
)


def check_square(costs: Float64s, what: str) -> None:
    """Refuse a matrix that is not square, or holds what is no cost; NaN is a gap."""
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        shape = " x ".join(f"{length:,}" for length in costs.shape)
        raise InputError(f"{what}: found {shape}, expected a square matrix")
    wrong = (costs < 0) | (costs * 1000 > MOST_COST)
    if wrong.any():
        row, column = divmod(int(np.argmax(wrong)), len(costs))
        raise InputError(
            f"{what}: found {costs[row, column]:g} in row {row + 1}, column "
            f"{column + 1}, expected from 0 to {MOST_COST // 1000:,}"
        )


def averaged(costs: Float64s) -> Float64s:
    """Each link at the mean of its two directions, or at the one that is known."""
    back = costs.T
    mean = (costs + back) / 2
    one = np.where(np.isnan(costs), back, costs)
    return np.where(np.isnan(mean), one, mean)


def whole(costs: Float64s) -> Int64s:
    """In thousandths, gaps as NO_WAY."""
    gaps = np.isnan(costs)
    return np.where(gaps, NO_WAY, cost_units(np.where(gaps, 0.0, costs)))


def filled(costs: Int64s) -> Int64s:
    """Gaps at the cost of the cheapest way round; other links stay. O(rows^3)."""
    gaps = costs >= NO_WAY
    if not gaps.any():
        return costs
    return np.where(gaps, np.minimum(shortest_paths(costs), NO_WAY), costs)


def metric(costs: Int64s) -> Int64s:
    """Costs between brokers, each link at its cheapest way; nothing to itself."""
    links = costs.copy()
    np.fill_diagonal(links, 0)
    return np.minimum(shortest_paths(links), NO_WAY)


@dataclass(frozen=True, eq=False)
class Links:
    """Access and core costs in thousandths, and points if there are."""

    access: Int64s
    core: Int64s
    user_points: Float64s | None = None
    broker_points: Float64s | None = None


def links_from_points(users: Members, brokers: Members) -> Links:
    """Links cost what they are long."""
    if brokers.points is None or users.points is None:
        lacking = brokers if brokers.points is None else users
        raise InputError(
            f"{lacking.file}: no columns x, y, ... say where each is",
            hint="Or give costs with --access and --core, or with --latency.",
        )
    if brokers.coordinates != users.coordinates:
        raise InputError(
            f"{users.file}: its coordinates are {','.join(users.coordinates)}, "
            f"expected {','.join(brokers.coordinates)} as in {brokers.file}"
        )
    core = shortest_paths(distances(brokers.points, brokers.points))
    access = distances(users.points, brokers.points)
    return Links(_in_reach(access, users, brokers), core, users.points, brokers.points)


def links_from_matrices(
    access: CostMatrix, core: CostMatrix, users: Members, brokers: Members, repair: bool
) -> Links:
    """Costs as two matrices have them; an empty access cost is out of reach."""
    names = list(brokers.names)
    column = ("broker", names)
    costs = matched(access, rows=("user", list(users.names)), columns=column)
    between = matched(core, rows=("broker", names), columns=column)
    reached = np.where(np.isnan(costs), OUT_OF_REACH, whole(costs))
    return Links(
        _in_reach(reached, users, brokers),
        _core(core.file, between, brokers.names, repair),
        users.points if brokers.points is not None else None,
        brokers.points if users.points is not None else None,
    )


def links_from_latency(
    latency: CostMatrix, users: Members, brokers: Members, repair: bool
) -> Links:
    """Latencies between the sites of users and brokers.

    Both directions count alike. Where a latency is not known, a broker is out of
    reach; with `repair` it is that of the quickest way by other sites.
    """
    broker_sites = _sites(latency, brokers)
    user_sites = _sites(latency, users)
    between = averaged(latency.costs)
    costs = whole(between)
    if repair:
        costs = filled(costs)
    access = costs[np.ix_(user_sites, broker_sites)]
    core = costs[np.ix_(broker_sites, broker_sites)]
    np.fill_diagonal(core, 0)
    return Links(
        _in_reach(np.where(access >= NO_WAY, OUT_OF_REACH, access), users, brokers),
        _metric(latency.file, core, brokers.names, repair),
    )


def _sites(latency: CostMatrix, members: Members) -> list[int]:
    if members.sites is None:
        raise InputError(f"{members.file}: no column site; --latency needs one")
    places = {name: place for place, name in enumerate(latency.rows)}
    for number, site in enumerate(members.sites):
        if site not in places:
            raise InputError(
                f"{members.where(number)}: site {site!r} is not in {latency.file}"
            )
    return [places[site] for site in members.sites]


def _core(file: str, costs: Float64s, names: Names, repair: bool) -> Int64s:
    links = whole(averaged(costs) if repair else costs)
    own = np.diagonal(links)
    np.fill_diagonal(links, np.where(own >= NO_WAY, 0, own))
    return _metric(file, links, names, repair)


def _metric(file: str, links: Int64s, names: Names, repair: bool) -> Int64s:
    """Core costs that obey the triangle inequality, mended or checked."""
    if repair:
        links = metric(links)
    gaps = links >= NO_WAY
    if gaps.any():
        a, b = divmod(int(np.argmax(gaps)), len(links))
        raise InputError(
            f"{file}: no cost for the link from {names[a]!r} to {names[b]!r}"
            + (", nor is there a way round" if repair else ""),
            hint="" if repair else REPAIR_HINT,
        )
    try:
        check_core(links, names)
    except InputError as cause:
        raise InputError(f"{file}: {cause.message}", hint=REPAIR_HINT) from cause
    return links


def _in_reach(access: Int64s, users: Members, brokers: Members) -> Int64s:
    """Costs of the brokers that each user knows. Every user must reach one."""
    reached = access
    if users.known is not None:
        reached = np.full_like(access, OUT_OF_REACH)
        for number, names in enumerate(users.known):
            few = _known(users, number, names, brokers) if names else slice(None)
            reached[number, few] = access[number, few]
    lost = ~(reached >= 0).any(axis=1)
    if lost.any():
        number = int(np.argmax(lost))
        others = int(lost.sum()) - 1
        raise InputError(
            f"{users.where(number)}: user {users.names[number]!r} has no broker in "
            "reach" + (f", nor have {others:,} others" if others else "")
        )
    return reached


def _known(
    users: Members, number: int, names: Sequence[str], brokers: Members
) -> list[int]:
    found = []
    for name in names:
        broker = brokers.names.find(name)
        if broker is None:
            raise InputError(
                f"{users.where(number)}: broker {name!r} is not in {brokers.file}"
            )
        found.append(broker)
    return found


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
