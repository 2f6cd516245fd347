"""Traffic along one tree of all brokers."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import overlay_packing, overlay_tree
from brokerwise.kernels.overlay_packing import Users, Wiring
from brokerwise.model.arrays import Int32s, Int64s, read_only

Link = tuple[int, int]


@st.composite
def trees(draw: st.DrawFn, max_brokers: int = 7) -> tuple[int, list[Link]]:
    """Each broker but one joined to one that is there; then numbered anyhow."""
    brokers = draw(st.integers(1, max_brokers))
    names = draw(st.permutations(range(brokers)))
    links = [
        (names[broker], names[draw(st.integers(0, broker - 1))])
        for broker in range(1, brokers)
    ]
    return brokers, draw(st.permutations(links))


def as_rows(links: list[Link]) -> Int32s:
    return np.array(links, np.int32).reshape(-1, 2)


def some_followers(data: st.DataObject, brokers: int) -> Int32s:
    rows = data.draw(st.integers(0, 3))
    count = st.lists(st.integers(0, 2), min_size=brokers, max_size=brokers)
    found = [data.draw(count) for _ in range(rows)]
    return np.array(found, np.int32).reshape(rows, brokers)


@given(tree=trees())
def test_a_tree_hangs_from_the_first_broker(tree: tuple[int, list[Link]]) -> None:
    brokers, links = tree
    order, parent, depth = overlay_tree.hang(as_rows(links), brokers)
    assert sorted(order.tolist()) == list(range(brokers))
    assert (order[0], parent[0], depth[0]) == (0, -1, 0)
    place = {broker: at for at, broker in enumerate(order.tolist())}
    ups = [(b, int(parent[b])) for b in range(1, brokers)]
    assert {frozenset(up) for up in ups} == {frozenset(link) for link in links}
    for broker, above in ups:
        assert place[above] < place[broker]
        assert depth[broker] == depth[above] + 1


@given(data=st.data(), tree=trees())
def test_what_crosses_a_link_is_wanted_on_its_other_side(
    data: st.DataObject, tree: tuple[int, list[Link]]
) -> None:
    brokers, links = tree
    followers = some_followers(data, brokers)
    sources = np.arange(followers.size).reshape(followers.shape) % 7
    order, parent, _ = overlay_tree.hang(as_rows(links), brokers)
    fans = overlay_tree.below(order, parent, followers)
    sent = overlay_tree.below(order, parent, sources)
    traffic = overlay_tree.traffic_of(fans, sent)
    assert traffic[0] == 0
    for link in range(1, brokers):
        under = _under(parent, link)
        over = [b for b in range(brokers) if b not in under]
        expected = 0
        for row in range(len(followers)):
            for near, far in ((under, over), (over, under)):
                if followers[row, far].any():
                    expected += sources[row, near].sum()
        assert traffic[link] == expected
        np.testing.assert_array_equal(fans[link], followers[:, under].sum(axis=1))
        np.testing.assert_array_equal(sent[link], sources[:, under].sum(axis=1))


def _under(parent: Int32s, link: int) -> list[int]:
    found = []
    for broker in range(len(parent)):
        above = broker
        while above not in (link, -1):
            above = int(parent[above])
        if above == link:
            found.append(broker)
    return found


@settings(max_examples=examples(50))
@given(tree=trees(max_brokers=6))
def test_links_that_come_first_are_taken_first(tree: tuple[int, list[Link]]) -> None:
    """Given the links of a tree first, Kruskal takes these."""
    brokers, links = tree
    rest = [pair for pair in combinations(range(brokers), 2) if pair not in links]
    rows = as_rows([*links, *rest])
    found = overlay_tree.kruskal(rows[:, 0], rows[:, 1], brokers)
    np.testing.assert_array_equal(found, as_rows(links))


def test_no_brokers_need_no_tree() -> None:
    rows = as_rows([])
    assert overlay_tree.kruskal(rows[:, 0], rows[:, 1], 0).shape == (0, 2)
    for found in overlay_tree.hang(rows, 0):
        assert len(found) == 0


@pytest.mark.parametrize("seed", range(5))
def test_kernels_stay_within_their_arrays(seed: int) -> None:
    """As plain Python, an index out of range raises; the answers are the same."""
    compiled = _descended(seed)
    with interpreted(overlay_packing, overlay_tree):
        plain = _descended(seed)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def _descended(seed: int) -> list[Int64s]:
    """All arrays after every user was tried, and every link."""
    rng = np.random.default_rng(seed)
    users, brokers, rows = 8, 5, 4
    points = rng.integers(0, 50, (brokers, 2))
    core = read_only(np.abs(points[:, None] - points[None, :]).sum(axis=2))
    links = as_rows([(b, int(rng.integers(b))) for b in range(1, brokers)])
    order, parent, depth = overlay_tree.hang(links, brokers)
    up = core[np.arange(brokers), parent]
    up[0] = 0
    home = rng.integers(0, brokers, users).astype(np.int32)
    lists = [np.flatnonzero(rng.random(rows) < 0.5) for _ in range(2 * users)]
    offsets = np.cumsum([0, *map(len, lists[:users])])
    wanted_offsets = np.cumsum([0, *map(len, lists[users:])])
    sending = np.concatenate(lists[:users]).astype(np.int32)
    wanted = np.concatenate(lists[users:]).astype(np.int32)
    rates = rng.integers(1, 9, len(sending))
    followers = np.zeros((rows, brokers), np.int32)
    sources = np.zeros((rows, brokers), np.int64)
    np.add.at(followers, (wanted, np.repeat(home, np.diff(wanted_offsets))), 1)
    np.add.at(sources, (sending, np.repeat(home, np.diff(offsets))), rates)
    loads = rng.integers(1, 9, users)
    load = np.bincount(home, loads, brokers).astype(np.int64)
    fans = overlay_tree.below(order, parent, followers)
    sent = overlay_tree.below(order, parent, sources)
    tree = overlay_tree.RootedTree(order, parent, depth, up)
    carried = overlay_tree.TreeTraffic(fans, sent, overlay_tree.traffic_of(fans, sent))
    everyone = Users(
        loads,
        read_only(rng.integers(-1, 20, (users, brokers))),
        offsets,
        sending,
        rates,
        read_only(wanted_offsets),
        read_only(wanted),
    )
    wiring = Wiring(home, load, followers, sources)
    capacity = read_only(np.full(brokers, 30))
    moves, saved = overlay_tree.tree_descend(
        np.arange(users), everyone, capacity, wiring, tree, carried
    )
    swaps = [
        overlay_tree.best_swap(cut, core, tree, carried) for cut in range(1, brokers)
    ]
    return [np.array([moves, saved]), np.array(swaps), *wiring, *carried]
