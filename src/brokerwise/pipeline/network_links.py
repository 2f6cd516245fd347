"""What the links of a network cost: from points, matrices, or a latency matrix."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.network import OUT_OF_REACH, check_core, distances, shortest_paths
from brokerwise.pipeline.network_costs import NO_WAY, averaged, filled, metric, whole
from brokerwise.pipeline.network_files import Members
from brokerwise.pipeline.network_matrix import CostMatrix, matched

REPAIR_HINT = (
    "Let links cost what the cheapest way round does, with --repair-triangle, or mend "
    "the file."
)


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
