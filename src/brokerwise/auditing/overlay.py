"""The audit of a plan of kind overlay, on numpy arrays and without Spark."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.auditing.files import changed_tables
from brokerwise.auditing.findings import SHOWN, OverlayAudit, Violation, in_order, named
from brokerwise.auditing.quality import RELATIVE, wrong_order
from brokerwise.auditing.trees import (
    Comparison,
    NeededTrees,
    OverlayClaims,
    OverlayRecount,
    PlannedTrees,
    circle,
    claims_of_plan,
    claims_on_disk,
    recounted,
)
from brokerwise.model.arrays import Bools
from brokerwise.model.errors import DigestMismatchError, InputError, MissingBasisError
from brokerwise.model.names import Names
from brokerwise.model.network import THOUSANDTHS, Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.model.subchannels import Subchannels
from brokerwise.storage.network import network_digest, read_network
from brokerwise.storage.overlay_plan import (
    OverlayHeader,
    OverlayTables,
    read_overlay_header,
    read_overlay_tables,
)
from brokerwise.storage.place import Place

_OTHER_PLANS = ("random", "greedy", "clustering", "steiner", "steiner_literal")
"""Figures that are the costs of other plans for the same network."""


@dataclass(frozen=True)
class Truth:
    """What was recomputed: costs in thousandths, brokers that have users."""

    access: int
    core: int
    brokers: int
    load: int
    most_load: int

    @property
    def cost(self) -> int:
        return self.access + self.core


def wrong_totals(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    for name in claims.required:
        if name not in claims.figures:
            yield f"plan.json has no figure {name!r}"
    if claims.feasible:
        for name in ("brokers", "load", "most_load"):
            stated, found = claims.figures.get(name), getattr(truth, name)
            if name in claims.figures and stated != found:
                yield f"{name}: stated {_number(stated)}, found {found:,}"


def wrong_costs(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    if not claims.feasible:
        return
    if claims.objective is not None and claims.objective != truth.cost:
        yield (
            f"objective: stated {shown(claims.objective)}, found {shown(truth.cost)}: "
            f"access {shown(truth.access)} and core {shown(truth.core)}"
        )
    for name in ("access", "core", "cost"):
        stated, found = claims.figures.get(name), getattr(truth, name)
        if name in claims.figures and stated != found:
            yield f"{name}: stated {shown(stated)}, found {shown(found)}"
    yield from _ratio(claims, truth)


def wrong_quality(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    """Statements about status, bound and gap that do not fit together, or that no
    bound could allow."""
    objective, bound = claims.objective, claims.bound
    if claims.status not in list(Status):
        yield f"status is {claims.status!r}, expected {', '.join(Status)}"
    elif objective is None or bound is None:
        if claims.feasible or (objective, bound) != (None, None):
            yield (
                f"objective {objective} and bound {bound} in a plan that is "
                f"{claims.status}"
            )
    elif not claims.feasible:
        yield f"objective {shown(objective)} in a plan that is {claims.status}"
    else:
        yield from _order(claims, objective, bound)
        yield from _gap(claims, objective, bound)
        yield from _parts(claims, truth)


def shown(cost: Any) -> str:
    """A cost of so many thousandths, exactly, as people write it."""
    if not isinstance(cost, int) or isinstance(cost, bool):
        return repr(cost)
    units, rest = divmod(abs(cost), THOUSANDTHS)
    text = f"{'-' if cost < 0 else ''}{units:,}"
    return f"{text}.{rest:03d}".rstrip("0") if rest else text


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else repr(value)


def _ratio(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    """The cost reduction ratio is the cost of a random plan over that of this one."""
    stated, random = claims.figures.get("crr"), claims.figures.get("random")
    if not truth.cost or not isinstance(random, int | float):
        return
    if "crr" not in claims.figures:
        return
    found = random / truth.cost
    said = stated if isinstance(stated, int | float) else math.nan
    if not math.isclose(said, found, rel_tol=RELATIVE):
        yield f"crr: stated {stated}, found {found:,.10g}"


def _order(claims: OverlayClaims, objective: int, bound: int) -> Iterator[str]:
    yield from wrong_order(claims.status, claims.gap, objective, bound, shown)
    for name in _OTHER_PLANS:
        other = claims.figures.get(name)
        if isinstance(other, int | float) and other < bound:
            yield f"{name} costs {shown(other)}, below the bound {shown(bound)}"


def _gap(claims: OverlayClaims, objective: int, bound: int) -> Iterator[str]:
    """The gap is (objective - bound) / objective, 0 for 0/0, none for x/0."""
    gap = 0.0
    if objective != bound:
        gap = abs(objective - bound) / abs(objective) if objective else math.inf
    said = math.inf if claims.gap is None else claims.gap
    if not math.isclose(said, gap, rel_tol=RELATIVE, abs_tol=RELATIVE):
        yield (
            f"gap is {claims.gap}; objective {shown(objective)} and bound "
            f"{shown(bound)} make {gap:,.10g}"
        )


def _parts(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    """No access costs less than its part of the bound. What the core adds to that
    holds for both together: a plan may save more there, at the expense of access."""
    access, core = (claims.figures.get(f"bound_{n}") for n in ("access", "core"))
    if isinstance(access, int) and access > truth.access:
        yield f"access costs {shown(truth.access)}, below its bound {shown(access)}"
    if not (isinstance(access, int) and isinstance(core, int)):
        return
    if access + core != claims.bound:
        yield (
            f"the bound is {shown(claims.bound)}; its parts, {shown(access)} and "
            f"{shown(core)}, make {shown(access + core)}"
        )


@dataclass(frozen=True, eq=False)
class Judge:
    """Says what is wrong, and calls users and brokers by their names."""

    claims: OverlayClaims
    recount: OverlayRecount
    trees: Comparison
    network: Network

    def truth(self) -> Truth:
        recount = self.recount
        return Truth(
            access=recount.access,
            core=self.trees.core_cost(),
            brokers=int(np.count_nonzero(recount.users)),
            load=int(recount.load.sum()),
            most_load=int(recount.load.max(initial=0)),
        )

    def violations(self) -> list[Violation]:
        claims, truth = self.claims, self.truth()
        return in_order(
            [
                *named("totals", wrong_totals(claims, truth)),
                *named("cost", wrong_costs(claims, truth)),
                *named("bound", wrong_quality(claims, truth)),
                *named("brokers", self._brokers()),
                *named("capacity", self._capacities()),
                *named("load", self._loads()),
                *self._users(),
                *self._homes(),
                *self._links(),
                *self._trees(),
            ]
        )

    def _broker(self, number: int) -> str:
        return _named("broker", self.network.broker_names, number)

    def _user(self, number: int) -> str:
        return _named("user", self.network.user_names, number)

    def _brokers(self) -> Iterator[str]:
        """Rows of the list of brokers that are not the network's."""
        rows, network = self.claims.brokers, self.network
        for at, number in enumerate(rows.broker.tolist()):
            if number != at:
                yield f"row {at:,} has broker {number:,}, expected {at:,}"
            elif number >= network.brokers:
                yield f"broker {number:,} is not in the network"
            else:
                yield from self._row(at)
        for number in range(len(rows.broker), network.brokers):
            # A plan that found no brokers for users need not list their loads.
            if self.claims.feasible or rows.names is not None:
                yield f"{self._broker(number)} is not listed"

    def _row(self, number: int) -> Iterator[str]:
        rows, network = self.claims.brokers, self.network
        name = network.broker_names[number]
        if rows.names is not None and rows.names[number] != name:
            yield f"{self._broker(number)} is called {_quoted(rows.names[number])}"
        capacity = int(network.capacity[number])
        if rows.capacity is not None and rows.capacity[number] != capacity:
            yield (
                f"{self._broker(number)} has capacity {rows.capacity[number]:,}, "
                f"in the network {capacity:,}"
            )

    def _capacities(self) -> Iterator[str]:
        loads, capacities = self.recount.load, self.network.capacity
        for number in np.flatnonzero(loads > capacities).tolist():
            yield (
                f"{self._broker(number)} carries {loads[number]:,}, "
                f"its capacity is {capacities[number]:,}"
            )

    def _loads(self) -> Iterator[str]:
        rows = self.claims.brokers
        for stated, found, what in (
            (rows.load, self.recount.load, "load"),
            (rows.users, self.recount.users, "users"),
        ):
            for at, number in enumerate(rows.broker.tolist()):
                if stated is None or not 0 <= number < len(found):
                    continue
                if stated[at] != found[number]:
                    yield (
                        f"{self._broker(number)}: {what} stated {stated[at]:,}, "
                        f"found {found[number]:,}"
                    )

    def _users(self) -> list[Violation]:
        """Users who do not have exactly one row, in order."""
        rows = self.claims.users
        expected = self.network.users if self.claims.feasible else 0
        if np.array_equal(rows, np.arange(expected)):
            return []
        if not self.claims.feasible:
            status = self.claims.status
            text = f"{len(rows):,} users have brokers in a plan that is {status}"
            return named("users", [text])
        known = rows[(rows >= 0) & (rows < expected)]
        counts = np.bincount(known, minlength=expected)
        found: list[tuple[npt.NDArray[np.integer], Callable[[int], str]]] = [
            (np.flatnonzero(counts == 0), lambda user: "has no row"),
            (np.flatnonzero(counts > 1), lambda user: f"has {counts[user]:,} rows"),
            (rows[(rows < 0) | (rows >= expected)], lambda user: "does not exist"),
            (rows[1:][np.diff(rows) < 0], lambda user: "comes out of order"),
        ]
        messages = (f"{self._user(u)} {say(u)}" for who, say in found for u in who)
        return named("users", messages, sum(len(who) for who, _ in found))

    def _homes(self) -> list[Violation]:
        """Users on brokers that do not exist, or that they do not know."""
        users, homes = self.claims.users, self.claims.homes
        lost = np.flatnonzero((homes < 0) | (homes >= self.network.brokers))
        placed = np.flatnonzero(self.recount.homes >= 0)
        costs = self.network.access[placed, self.recount.homes[placed]]
        far = placed[costs < 0]
        return [
            *named(
                "broker",
                (
                    f"{self._user(users[row])} is on broker {homes[row]:,}, "
                    "which does not exist"
                    for row in lost
                ),
                len(lost),
            ),
            *named(
                "reach",
                (
                    f"{self._user(user)} is on "
                    f"{self._broker(self.recount.homes[user])}, which is out of its "
                    "reach"
                    for user in far
                ),
                len(far),
            ),
        ]

    def _links(self) -> list[Violation]:
        trees, found = self.claims.trees, self.trees.found
        strange = np.setdiff1d(np.arange(len(trees)), found.valid, assume_unique=True)
        wrong = [
            (strange, "has a broker or a sub-channel that does not exist"),
            (found.disordered, "comes out of order"),
            (found.again, "goes to a broker that has the messages already"),
            (found.early, "comes from a broker that does not have the messages yet"),
        ]
        messages = (f"{_row(trees, row)} {say}" for rows, say in wrong for row in rows)
        return [
            *named("links", messages, sum(len(rows) for rows, _ in wrong)),
            *named("circle", self._circle()),
        ]

    def _circle(self) -> Iterator[str]:
        if not self.claims.tree:
            return
        closing = circle(self.claims.trees, self.trees.found.valid)
        if closing is not None:
            a, b = (self._broker(number) for number in closing)
            yield f"the link from {a} to {b} closes a circle, expected one tree"

    def _trees(self) -> list[Violation]:
        trees = self.trees
        missing, superfluous = trees.missing, trees.superfluous
        total = len(missing) + len(superfluous)
        total += int(trees.short.sum()) + int(trees.astray.sum())
        messages = [
            *(f"{self._pair(pair)} have no tree" for pair in missing[:SHOWN]),
            *(f"{self._pair(pair)} need no tree" for pair in superfluous[:SHOWN]),
            *self._ends(trees.short, "do not get to {}, where they are wanted"),
            *self._ends(trees.astray, "get to {}, where nobody wants them"),
        ]
        return [*named("trees", messages, total), *self._heavy()]

    def _ends(self, wrong: Bools, say: str) -> Iterator[str]:
        wanted, _ = self.trees.both
        for tree, broker in islice(np.argwhere(wrong), SHOWN):
            pair = self.trees.needed.pair[wanted[tree]]
            yield f"{self._pair(pair)} {say.format(self._broker(broker))}"

    def _heavy(self) -> list[Violation]:
        if self.claims.tree or not self.trees.found.sound:
            return []
        pairs, weights, least = self.trees.heavy
        messages = (
            f"{self._pair(pair)}: the tree costs {shown(int(weight))}, "
            f"the least is {shown(int(best))}"
            for pair, weight, best in zip(pairs, weights, least, strict=True)
        )
        return named("weight", messages, len(pairs))

    def _pair(self, pair: int) -> str:
        source, subchannel = divmod(int(pair), len(self.network.subchannels))
        return f"messages of sub-channel {subchannel:,} from {self._broker(source)}"


def _row(trees: Trees, row: int) -> str:
    """A row of the trees, by the numbers that it has."""
    return (
        f"row {row:,} (source {trees.source[row]}, sub-channel {trees.subchannel[row]},"
        f" {trees.parent[row]} to {trees.child[row]})"
    )


def _named(what: str, names: Names, number: int) -> str:
    if not 0 <= number < len(names):
        return f"{what} number {number:,}"
    return f"{what} {_quoted(names[int(number)])}"


def _quoted(name: str) -> str:
    """In quotes, control characters escaped."""
    return json.dumps(name, ensure_ascii=False)


def overlay_violations(plan: OverlayPlan, network: Network) -> list[Violation]:
    """All that is wrong with a plan; the first few of each check are named.

    Shares no code with planners and believes nothing that the plan says. Costs
    O(brokers^2) for each tree, and a few arrays of the length of the trees.
    """
    return _judge(claims_of_plan(plan), network).violations()


def audit_overlay_directory(plan: Place, network: Place | None = None) -> OverlayAudit:
    """Audit a plan directory against its network, all of it in memory.

    `network` is where the plan says unless given. Raises InputError for a directory
    or a file that cannot be used, DigestMismatchError for a network that is not the
    plan's or has changed.
    """
    header = read_overlay_header(plan)
    return audit_staged_overlay(plan, header, _network(plan, header, network))


def audit_staged_overlay(
    place: Place, header: OverlayHeader, network: Network
) -> OverlayAudit:
    """Audit a plan that is written, whether its plan.json, `header`, is or not.

    So a plan can be audited before it appears. Raises DigestMismatchError for a
    network that is not the plan's.
    """
    digest, stated = network_digest(network), header.network["digest"]
    if digest != stated:
        raise DigestMismatchError("the network", digest, stated)
    tables = read_overlay_tables(place, header)
    judge = _judge(claims_on_disk(header, tables), network)
    truth = judge.truth()
    found = [
        *named("digest", changed_tables(header, tables.digests())),
        *named("subchannels", _wrong_bounds(header, tables, network.subchannels)),
        *judge.violations(),
    ]
    return OverlayAudit(
        digest=header.digest,
        violations=tuple(in_order(found)),
        users=network.users,
        brokers=truth.brokers,
        subchannels=len(network.subchannels),
        links=len(judge.claims.trees),
        load=truth.load,
        access=truth.access,
        core=truth.core,
    )


def _judge(claims: OverlayClaims, network: Network) -> Judge:
    recount = recounted(claims, network)
    found = PlannedTrees.of(claims.trees, network)
    trees = Comparison(NeededTrees.of(recount), found, network.core, claims.tree)
    return Judge(claims, recount, trees, network)


def _network(plan: Place, header: OverlayHeader, given: Place | None) -> Network:
    if given is not None:
        return read_network(given)
    try:
        return read_network(Place(header.network["path"]))
    except DigestMismatchError:
        raise
    except InputError as cause:
        path = header.network["path"]
        raise MissingBasisError(str(plan), "network", path, cause.message) from cause


def _wrong_bounds(
    header: OverlayHeader, tables: OverlayTables, subchannels: Subchannels
) -> Iterator[str]:
    """Sub-channels whose bounds are not the network's: the last axis runs fastest."""
    attributes = [axis.attribute for axis in subchannels.axes]
    if list(header.attributes) != attributes:
        yield (
            f"the plan has bounds of {', '.join(header.attributes)}, the network cuts "
            f"{', '.join(attributes)}"
        )
        return
    table = tables.subchannels
    if not np.array_equal(table["subchannel"].to_numpy(), np.arange(len(subchannels))):
        yield (
            f"expected a row for each sub-channel from 0 to {len(subchannels) - 1:,}, "
            "in order"
        )
        return
    grids = np.indices(subchannels.shape).reshape(len(subchannels.axes), -1)
    for axis, cell in zip(subchannels.axes, grids, strict=True):
        edges = np.array(axis.edges)
        for end, bounds in (("low", edges[cell]), ("high", edges[cell + 1])):
            column = f"{axis.attribute}_{end}"
            stated = table[column].to_numpy()
            for row in np.flatnonzero(stated != bounds):
                yield (
                    f"sub-channel {row:,}: {column} stated {stated[row]:g}, in the "
                    f"network {bounds[row]:g}"
                )
