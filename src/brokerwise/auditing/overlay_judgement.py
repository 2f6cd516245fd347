"""An overlay plan's statements against the recount: what differs, in words."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from brokerwise.auditing.findings import SHOWN, Violation, in_order, named
from brokerwise.auditing.overlay_claims import OverlayClaims
from brokerwise.auditing.overlay_quality import (
    Truth,
    shown,
    wrong_costs,
    wrong_quality,
    wrong_totals,
)
from brokerwise.auditing.overlay_recount import OverlayRecount
from brokerwise.auditing.overlay_trees import Comparison, circle
from brokerwise.model.arrays import Bools
from brokerwise.model.names import Names
from brokerwise.model.network import Network
from brokerwise.model.overlay import Trees


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
