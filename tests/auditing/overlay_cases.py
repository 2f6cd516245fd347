"""Networks and plans for the audit of overlays, made of plain loops.

Loads, trees and costs are read off the definitions; nothing here is of the planners.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from brokerwise.model.names import Names
from brokerwise.model.network import (
    Network,
    Published,
    Wanted,
    distances,
    shortest_paths,
)
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.model.subchannels import Axis, Subchannels

Link = tuple[int, int]


def network_of(
    *,
    publishes: Sequence[dict[int, int]],
    wants: Sequence[Iterable[int]],
    users: Any,
    brokers: Any,
    capacity: Sequence[int],
    axes: tuple[Axis, ...] = (Axis("price", (0, 1, 2, 5)),),
    **others: Any,
) -> Network:
    """Users and brokers at points; costs are the distances unless given."""
    user_points, broker_points = np.array(users, float), np.array(brokers, float)
    lists = [sorted(rates) for rates in publishes]
    interests = [sorted(wanted) for wanted in wants]
    facts: dict[str, Any] = {
        "access": distances(user_points, broker_points),
        "core": shortest_paths(distances(broker_points, broker_points)),
        "user_names": Names.of(f"u{n}" for n in range(len(wants))),
        "broker_names": Names.of(f"b{n}" for n in range(len(capacity))),
        "period_seconds": 60,
        "user_points": user_points,
        "broker_points": broker_points,
    }
    return Network(
        capacity=np.array(capacity, np.int64),
        published=Published(
            offsets(lists),
            entries(lists),
            np.array(
                [rates[c] for rates in publishes for c in sorted(rates)], np.int64
            ),
        ),
        wanted=Wanted(offsets(interests), entries(interests)),
        subchannels=Subchannels(axes),
        **(facts | others),
    )


def offsets(lists: Sequence[Sequence[int]]) -> Any:
    return np.cumsum([0, *map(len, lists)])


def entries(lists: Sequence[Sequence[int]]) -> Any:
    return np.array([entry for owned in lists for entry in owned], np.int32)


@dataclass(frozen=True)
class Literal:
    """A network with the broker of each user, one definition after the other."""

    network: Network
    homes: Sequence[int]

    def rates(self, user: int) -> dict[int, int]:
        published = self.network.published
        at = range(published.offsets[user], published.offsets[user + 1])
        return {int(published.subchannels[k]): int(published.rates[k]) for k in at}

    def wants(self, user: int) -> set[int]:
        wanted = self.network.wanted
        return set(
            wanted.subchannels[wanted.offsets[user] : wanted.offsets[user + 1]].tolist()
        )

    def sent(self, user: int) -> dict[int, int]:
        others = [self.wants(o) for o in range(self.network.users) if o != user]
        return {
            c: rate
            for c, rate in self.rates(user).items()
            if any(c in wanted for wanted in others)
        }

    def load(self, user: int) -> int:
        received = sum(
            self.rates(other).get(c, 0)
            for c in self.wants(user)
            for other in range(self.network.users)
            if other != user
        )
        return sum(self.sent(user).values()) + received

    def loads(self) -> list[int]:
        found = [0] * self.network.brokers
        for user, home in enumerate(self.homes):
            found[home] += self.load(user)
        return found

    def access(self) -> int:
        return sum(
            self.load(user) * int(self.network.access[user, home])
            for user, home in enumerate(self.homes)
        )

    def sources(self) -> dict[Link, int]:
        """What is sent from each broker in each sub-channel, if anything."""
        found: dict[Link, int] = {}
        for user, home in enumerate(self.homes):
            for c, rate in self.sent(user).items():
                found[home, c] = found.get((home, c), 0) + rate
        return dict(sorted(found.items()))

    def ends(self, source: int, subchannel: int) -> set[int]:
        homes = {
            home
            for user, home in enumerate(self.homes)
            if subchannel in self.wants(user)
        }
        return homes | {source}

    def cost_of(self, links: Iterable[Link]) -> int:
        return sum(int(self.network.core[a, b]) for a, b in links)

    def trees(self, tree: Sequence[Link] | None = None) -> dict[Link, list[Link]]:
        """The links of each tree, from its source outwards."""
        found = {}
        for source, subchannel in self.sources():
            ends = self.ends(source, subchannel)
            core = self.network.core
            links = spanning(core, ends) if tree is None else smallest(tree, ends)
            if links:
                found[source, subchannel] = outwards(source, links)
        return found

    def core(self, tree: Sequence[Link] | None = None) -> int:
        sent = self.sources()
        trees = self.trees(tree).items()
        return sum(sent[pair] * self.cost_of(links) for pair, links in trees)


def spanning(core: Any, brokers: Iterable[int]) -> list[Link]:
    """The minimum spanning tree, by Kruskal."""
    group = {broker: broker for broker in brokers}
    links = [(a, b) for a in group for b in group if a < b]
    links.sort(key=lambda link: (core[link], link))
    kept = []
    for a, b in links:
        if group[a] != group[b]:
            kept.append((a, b))
            old, new = group[b], group[a]
            group |= {k: new for k, at in group.items() if at == old}
    return kept


def smallest(tree: Sequence[Link], ends: set[int]) -> list[Link]:
    """What is left of a tree when leaves that are no ends are cut, again and again."""
    links = list(tree)
    while True:
        degree = {
            b: sum(b in link for link in links) for b in {b for li in links for b in li}
        }
        kept = [
            link
            for link in links
            if not any(degree[b] == 1 and b not in ends for b in link)
        ]
        if kept == links:
            return links
        links = kept


def outwards(source: int, links: Sequence[Link]) -> list[Link]:
    """The links as (from, to), breadth first, children ascending."""
    rest, found, queue = set(links), [], [source]
    while queue:
        parent = queue.pop(0)
        near = sorted(link for link in rest if parent in link)
        children = sorted(a + b - parent for a, b in near)
        rest -= set(near)
        found += [(parent, child) for child in children]
        queue += children
    return found


def plan_of(
    network: Network, homes: Sequence[int], tree: Sequence[Link] | None = None
) -> OverlayPlan:
    """A plan that is right about everything, with a bound of 9/10 of its cost."""
    truth = Literal(network, homes)
    access, core = truth.access(), truth.core(tree)
    cost, loads = access + core, truth.loads()
    bound = cost * 9 // 10
    rows = [
        (source, c, *link)
        for (source, c), links in truth.trees(tree).items()
        for link in links
    ]
    table = np.array(rows, np.int32).reshape(-1, 4)
    random = cost * 2 + 1
    return OverlayPlan(
        algorithm="greedy",
        status=Status.OPTIMAL if cost == bound else Status.FEASIBLE,
        objective=cost,
        bound=bound,
        broker=np.array(homes, np.int32),
        load=np.array(loads, np.int64),
        trees=Trees(*table.T),
        tree=tree is not None,
        figures={
            "access": access,
            "core": core,
            "cost": cost,
            "bound_access": access // 2,
            "bound_core": bound - access // 2,
            "random": random,
            "crr": random / cost if cost else None,
            "brokers": len(set(homes)),
            "load": sum(loads),
            "most_load": max(loads, default=0),
            "start": "random",
        },
        options={"algorithm": "greedy"},
        seed=7,
    )


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to 6 users and 5 brokers at whole points, up to 4 sub-channels."""
    users, brokers = draw(st.integers(0, 6)), draw(st.integers(1, 5))
    cuts = draw(st.sampled_from([(2,), (3,), (2, 2)]))
    axes = tuple(
        Axis(name, tuple(range(cut + 1)))
        for name, cut in zip(("a", "b"), cuts, strict=False)
    )
    subchannels = st.integers(0, int(np.prod(cuts)) - 1)
    rates = st.dictionaries(subchannels, st.integers(1, 9), max_size=3)
    points = st.tuples(st.integers(0, 4), st.integers(0, 4))

    def each(strategy: st.SearchStrategy[Any], count: int) -> Any:
        return draw(st.lists(strategy, min_size=count, max_size=count))

    return network_of(
        publishes=each(rates, users),
        wants=each(st.sets(subchannels), users),
        users=np.array(each(points, users), float).reshape(users, 2),
        brokers=each(points, brokers),
        capacity=[10**6] * brokers,
        axes=axes,
    )


@st.composite
def plans(draw: st.DrawFn) -> tuple[Network, OverlayPlan]:
    """A network, and a plan that is right: users anywhere, brokers with or without a
    spanning tree of their own."""
    network = draw(networks())
    brokers, users = network.brokers, network.users
    home = st.integers(0, brokers - 1)
    homes = draw(st.lists(home, min_size=users, max_size=users))
    tree = None
    if draw(st.booleans()):
        tree = [(draw(st.integers(0, b - 1)), b) for b in range(1, brokers)]
    return network, plan_of(network, homes, tree)
