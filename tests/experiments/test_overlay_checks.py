"""What the experiment's own checks find in wirings."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.experiments.overlay_checks import (
    Traffic,
    access_problems,
    core_problems,
    order_problems,
)
from brokerwise.model.network import Network
from brokerwise.pipeline.networks.generate import NetworkSettings, generate

USERS, BROKERS, SUBCHANNELS = 7, 3, 4


def network(seed: int) -> Network:
    return generate(NetworkSettings(USERS, BROKERS, SUBCHANNELS, width=0.5), seed)


def lightest(
    core: "np.ndarray[tuple[int, int], np.dtype[np.int64]]", of: set[int]
) -> int:
    """The weight of the lightest spanning tree, by trying all sets of links."""
    links = list(combinations(sorted(of), 2))
    best = None
    for chosen in combinations(links, len(of) - 1):
        joined = {min(of)}
        for _ in chosen:
            joined |= {e for link in chosen if joined & set(link) for e in link}
        weight = sum(int(core[link]) for link in chosen)
        if joined == of and (best is None or weight < best):
            best = weight
    return best or 0


def literal(net: Network, broker: list[int]) -> tuple[list[int], int, int]:
    """Loads of users, access and core, message by message."""
    rates = {
        (user, int(net.published.subchannels[k])): int(net.published.rates[k])
        for user in range(USERS)
        for k in range(net.published.offsets[user], net.published.offsets[user + 1])
    }
    wants = [
        set(net.wanted.subchannels[a:b].tolist())
        for a, b in zip(net.wanted.offsets, net.wanted.offsets[1:], strict=False)
    ]
    load, core = [0] * USERS, 0
    for (user, subchannel), rate in rates.items():
        fans = [u for u in range(USERS) if u != user and subchannel in wants[u]]
        if fans:
            load[user] += rate
            for fan in fans:
                load[fan] += rate
            homes = {broker[u] for u in range(USERS) if subchannel in wants[u]}
            core += rate * lightest(net.core, homes | {broker[user]})
    access = sum(load[u] * int(net.access[u, broker[u]]) for u in range(USERS))
    return load, access, core


@settings(max_examples=examples(40))
@given(
    st.integers(0, 1000),
    st.lists(st.integers(0, BROKERS - 1), min_size=USERS, max_size=USERS),
    st.integers(-1, 1),
)
def test_exactly_what_a_literal_count_finds_is_found(
    seed: int, broker: list[int], off: int
) -> None:
    net = network(seed)
    load, access, core = literal(net, broker)
    traffic, wiring = Traffic.of(net), np.array(broker, np.int32)
    assert traffic.load.tolist() == load
    over = any(
        sum(load[u] for u in range(USERS) if broker[u] == b) > net.capacity[b]
        for b in range(BROKERS)
    )
    found = list(access_problems(net, traffic, wiring, access + off))
    assert any("carries" in problem for problem in found) == over
    assert any("access costs" in problem for problem in found) == (off != 0)
    assert bool(list(core_problems(net.core, traffic, wiring, core + off))) == (
        off != 0
    )


def test_users_without_a_broker_that_they_know_are_found() -> None:
    net = generate(NetworkSettings(USERS, BROKERS, SUBCHANNELS, known=1), 1)
    traffic = Traffic.of(net)
    wrong = net.access.argmin(axis=1).astype(np.int32)  # -1 is the least
    (found, *_) = access_problems(net, traffic, wrong, 0)
    assert found == "7 users are on brokers that they do not know"
    for broker, said in (
        (wrong[:5], "5 of 7 users have a broker"),
        (np.full(USERS, 3, np.int32), "a user is on a broker that does not exist"),
        (np.full(USERS, -1, np.int32), "a user is on a broker that does not exist"),
    ):
        assert list(access_problems(net, traffic, broker, 0)) == [said]


@pytest.mark.parametrize(
    ("costs", "bound", "said"),
    [
        ({"greedy": 7, "local": 7}, 7, []),
        ({"greedy": 6}, 7, ["greedy costs 6, below the bound of 7"]),
        ({"greedy": 6, "local": 7}, 5, ["local costs 7, more than greedy with 6"]),
        ({"greedy": 6}, None, []),
    ],
)
def test_nothing_is_below_the_bound_nor_local_above_another(
    costs: dict[str, int], bound: int | None, said: list[str]
) -> None:
    assert list(order_problems(costs, bound)) == said
