"""What a wiring costs, read off the definitions: slow, and with no code of the
planners in it."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from brokerwise.model.network import Network

Links = Sequence[Sequence[int]]


def published(network: Network) -> list[dict[int, int]]:
    """Of each user its rate in each sub-channel."""
    lists = network.published
    found = []
    for first, last in zip(lists.offsets, lists.offsets[1:], strict=False):
        pairs = zip(lists.subchannels[first:last], lists.rates[first:last], strict=True)
        found.append({int(c): int(rate) for c, rate in pairs})
    return found


def wanted(network: Network) -> list[set[int]]:
    """Of each user the sub-channels that it wants."""
    lists = network.wanted
    spans = zip(lists.offsets, lists.offsets[1:], strict=False)
    return [{int(c) for c in lists.subchannels[a:b]} for a, b in spans]


def loads(network: Network) -> list[int]:
    """What each user sends that another wants, and what it receives from others."""
    rates, interests = published(network), wanted(network)
    found = []
    for user in range(network.users):
        others = [other for other in range(network.users) if other != user]
        sent = sum(
            rate
            for c, rate in rates[user].items()
            if any(c in interests[other] for other in others)
        )
        received = sum(
            rates[other].get(c, 0) for c in interests[user] for other in others
        )
        found.append(sent + received)
    return found


def access_cost(network: Network, broker: Sequence[int]) -> int:
    return sum(
        load * int(network.access[user, broker[user]])
        for user, load in enumerate(loads(network))
    )


def core_cost(
    network: Network, broker: Sequence[int], weight: Callable[[int, set[int]], int]
) -> int:
    """For each source and sub-channel, what is sent times the `weight` of what joins
    the source to all brokers with a follower."""
    rates, interests = published(network), wanted(network)
    total = 0
    for user, source in enumerate(broker):
        for c, rate in rates[user].items():
            ends = {
                int(broker[other])
                for other in range(network.users)
                if c in interests[other]
            }
            if ends:
                total += rate * weight(int(source), ends)
    return total


def minimum_tree(core: Sequence[Sequence[int]], brokers: set[int]) -> int:
    """The weight of the minimum spanning tree, by Kruskal."""
    group = {broker: broker for broker in brokers}
    total = 0
    for cost, a, b in sorted(
        (int(core[a][b]), a, b) for a, b in combinations(sorted(brokers), 2)
    ):
        if group[a] != group[b]:
            total += cost
            old, new = group[a], group[b]
            group = {k: new if g == old else g for k, g in group.items()}
    return total


def subtree(
    core: Sequence[Sequence[int]], links: Links, source: int, ends: set[int]
) -> int:
    """The weight of the links of a tree on the ways from the source to its ends."""
    total = 0

    def needed(broker: int, before: int) -> bool:
        nonlocal total
        found = broker in ends
        for link in links:
            if broker in link:
                other = int(link[1] if link[0] == broker else link[0])
                if other != before and needed(other, broker):
                    total += int(core[broker][other])
                    found = True
        return found

    needed(source, -1)
    return total


def costs(
    network: Network, broker: Sequence[int], tree: Links | None = None
) -> tuple[int, int]:
    """Access and core."""
    core = network.core.tolist()

    def weight(source: int, ends: set[int]) -> int:
        if tree is None:
            return minimum_tree(core, ends | {source})
        return subtree(core, tree, source, ends)

    return access_cost(network, broker), core_cost(network, broker, weight)


def wirings(network: Network) -> Iterator[tuple[int, ...]]:
    """Every broker of each user, as far as it knows brokers and they have room."""
    load = loads(network)
    known = [
        [j for j in range(network.brokers) if network.access[i, j] >= 0]
        for i in range(network.users)
    ]
    for wiring in product(*known):
        full = [0] * network.brokers
        for user, broker in enumerate(wiring):
            full[broker] += load[user]
        if all(a <= b for a, b in zip(full, network.capacity.tolist(), strict=True)):
            yield wiring


def spanning_trees(brokers: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every tree that joins all brokers: brokers - 1 links that leave none out."""
    links = combinations(range(brokers), 2)
    for tree in combinations(links, brokers - 1):
        joined = {0}
        for _ in tree:
            joined |= {end for link in tree if joined & set(link) for end in link}
        if len(joined) == brokers:
            yield tree


def least_cost(network: Network, *, tree: bool = False) -> int | None:
    """The cost of the best wiring, or None if there is none: by trying all."""
    overlays: list[Links | None] = [None]
    if tree:
        overlays = list(spanning_trees(network.brokers))
    found = (
        sum(costs(network, wiring, links))
        for wiring in wirings(network)
        for links in overlays
    )
    return min(found, default=None)
