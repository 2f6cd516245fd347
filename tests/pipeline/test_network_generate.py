"""Generated networks: as asked, repeatable, and what their settings say."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.pipeline.networks.generate import (
    MEAN_RATE,
    NetworkSettings,
    boxes,
    draw_published,
    generate,
    total_load,
)
from brokerwise.storage.network import network_digest


def made(seed: int = 1, **settings: Any) -> Network:
    return generate(NetworkSettings(**{"users": 60, "brokers": 5, **settings}), seed)


def between(core: Int64s) -> Int64s:
    return core[~np.eye(len(core), dtype=np.bool_)]


def test_the_same_seed_makes_the_same_network() -> None:
    settings: dict[str, Any] = {"dimensions": 2, "subchannels": 8, "known": 2}
    one = network_digest(made(3, **settings))
    assert one == network_digest(made(3, **settings))
    assert one != network_digest(made(4, **settings))


@pytest.mark.parametrize("costs", ["plane", "independent"])
@pytest.mark.parametrize("ratio", [0.1, 1, 100])
def test_access_links_cost_so_many_times_what_core_links_do(
    costs: str, ratio: float
) -> None:
    network = made(users=3000, brokers=80, costs=costs, ratio=ratio)
    found = network.access.mean() / between(network.core).mean()
    assert found == pytest.approx(ratio, rel=0.05)


def test_links_in_the_plane_cost_their_length() -> None:
    network = made(ratio=4)
    assert network.user_points is not None and network.broker_points is not None
    for points in (network.user_points, network.broker_points):
        assert points.min() >= 0 and points.max() <= 100
    user, broker = network.user_points[7], network.broker_points[3]
    length = np.hypot(*(user - broker)) * 1000
    assert length <= network.access[7, 3] <= length + 1
    length = np.hypot(*(network.broker_points[1] - broker)) * 1000
    assert length / 4 <= network.core[1, 3] <= length / 4 + 2


def test_independent_access_costs_are_uniform_up_to_twice_the_mean() -> None:
    network = made(users=2000, brokers=40, costs="independent")
    most = 2 * between(network.core).mean()
    shares = np.sort(network.access.ravel() / most)
    steps = np.linspace(0, 1, len(shares))
    assert np.abs(shares - steps).max() < 0.01


@pytest.mark.parametrize("factor", [0.5, 1, 2, 2.7])
def test_equal_capacities_add_up_to_the_factor_of_all_load(factor: float) -> None:
    network = made(brokers=7, capacity_factor=factor)
    load = total_load(network.published, network.wanted, network.subchannels)
    assert load > 0 and len(set(network.capacity.tolist())) == 1
    assert 0 <= network.capacity.sum() - factor * load < 7 + 1


@pytest.mark.parametrize(("dimensions", "subchannels"), [(1, 100), (2, 20), (3, 6)])
def test_users_publish_as_much_in_any_number_of_dimensions(
    dimensions: int, subchannels: int
) -> None:
    network = made(users=4000, dimensions=dimensions, subchannels=subchannels)
    assert network.subchannels.shape == (subchannels,) * dimensions
    mean = network.published.rates.sum() / 4000 / subchannels
    assert mean == pytest.approx(MEAN_RATE, rel=0.1)


@pytest.mark.parametrize(("dimensions", "cells"), [(1, 100), (1, 3), (2, 5)])
def test_rates_are_integrals_of_quadratics_cut_at_zero(
    dimensions: int, cells: int
) -> None:
    """The integral of a fine grid, with the same coefficients drawn."""
    users, fine = 25, 40 if dimensions > 1 else 400
    published = draw_published(np.random.default_rng(5), users, cells, dimensions)
    drawn = np.random.default_rng(5).uniform(-1, 1, (users, dimensions, 3))
    x = (np.arange(cells * fine) + 0.5) / (cells * fine)
    quadratic = drawn @ np.stack([x * x, x, np.ones_like(x)])
    total = quadratic[:, 0]
    if dimensions == 2:
        total = quadratic[:, 0, :, None] + quadratic[:, 1, None, :]
    total = np.maximum(total, 0).reshape(users, *[cells, fine] * dimensions)
    exact = total.mean(axis=tuple(range(2, 2 * dimensions + 1, 2))).reshape(users, -1)
    rates = np.zeros_like(exact)
    rates[published.owners(), published.subchannels] = published.rates
    scale = MEAN_RATE * cells / cells**dimensions / (0.285 * dimensions**0.5)
    off = np.cumsum(rates, axis=1) - np.cumsum(exact, axis=1) * scale
    # Less than a message for what is carried, and a little for the coarser grid.
    assert np.abs(off).max() < 1.2
    silent = exact.sum(axis=1) == 0
    assert silent.any() and not rates[silent].any()


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 3),
)
def test_a_box_has_all_its_sub_channels(
    sides: list[list[tuple[int, int]]], dimensions: int
) -> None:
    first = np.array([[a for a, _ in user[:dimensions]] for user in sides])
    length = np.array([[b for _, b in user[:dimensions]] for user in sides])
    past = np.minimum(first + length, 4)
    wanted = boxes(first, past, 4)
    for user in range(len(sides)):
        ranges = [range(a, b) for a, b in zip(first[user], past[user], strict=True)]
        expected = [
            sum(k * 4 ** (dimensions - 1 - d) for d, k in enumerate(cell))
            for cell in itertools.product(*ranges)
        ]
        found = wanted.subchannels[wanted.offsets[user] : wanted.offsets[user + 1]]
        assert found.tolist() == expected


def test_subscriptions_are_intervals_of_a_third_on_average() -> None:
    lengths = np.diff(made(users=5000).wanted.offsets)
    assert lengths.mean() == pytest.approx(100 / 3 + 1, rel=0.03)


def test_narrow_subscriptions_keep_within_their_width() -> None:
    network = made(users=5000, width=0.1)
    lengths = np.diff(network.wanted.offsets)
    assert lengths.min() >= 1 and lengths.max() <= 11
    assert lengths.mean() == pytest.approx(6, rel=0.05)
    first = network.wanted.subchannels[network.wanted.offsets[:-1]]
    assert np.bincount(first // 10, minlength=10)[:9].min() > 400  # anywhere


def test_a_user_knows_as_many_brokers_as_asked_and_nothing_else_changes() -> None:
    whole, some = made(), made(known=2)
    reached = some.access >= 0
    assert (reached.sum(axis=1) == 2).all()
    assert (reached.sum(axis=0) > 0).all()
    np.testing.assert_array_equal(some.access[reached], whole.access[reached])
    np.testing.assert_array_equal(some.core, whole.core)
    np.testing.assert_array_equal(some.published.rates, whole.published.rates)
    np.testing.assert_array_equal(some.wanted.subchannels, whole.wanted.subchannels)


def sites() -> Any:
    """Ten sites; some latencies missing, directions differ, detours are shorter."""
    random = np.random.default_rng(2)
    latency = random.uniform(1, 50, (10, 10))
    np.fill_diagonal(latency, 0.5)
    latency[2, 3] = latency[3, 2] = latency[4, 5] = np.nan
    return latency


def test_users_and_brokers_are_at_sites_of_a_latency_matrix() -> None:
    latency = sites()
    network = made(users=50, brokers=10, latency=latency)
    assert network.user_points is None
    # Ten brokers at ten sites: a user's row is that of its site, put in some order.
    mean = (latency + latency.T) / 2
    mean[4, 5] = mean[5, 4] = latency[5, 4]
    known = [set(np.ceil(row[~np.isnan(row)] * 1000 - 1e-6).tolist()) for row in mean]
    for row in network.access:
        assert any(site <= set(row.tolist()) for site in known)
        assert (row > 0).all()
    assert between(network.core).min() > 0


def test_more_brokers_than_sites_share_them() -> None:
    network = made(users=5, brokers=23, latency=sites())
    own = np.sort((network.core == 500).sum(axis=1))  # within a site: 0.5
    assert own.tolist() == [1] * 14 + [2] * 9


def test_sites_with_no_way_between_them_are_refused() -> None:
    latency = np.full((3, 3), np.nan)
    latency[0, 1] = 4.0
    with pytest.raises(InputError, match="no way between them"):
        made(latency=latency)


def test_one_broker_alone_is_a_network() -> None:
    network = made(brokers=1, costs="independent")
    assert network.core.tolist() == [[0]]
    assert network.access.mean() == pytest.approx(50_000, rel=0.3)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"users": 0}, "users: found 0, expected a whole number from 1"),
        ({"brokers": 2.5}, "brokers: found 2.5"),
        ({"known": 6}, r"known: found 6, .* to 5 \(the number of brokers\)"),
        ({"costs": "free"}, "costs: found 'free', expected plane or independent"),
        ({"ratio": 0}, "ratio: found 0"),
        ({"ratio": float("nan")}, "ratio: found nan"),
        ({"width": 1.5}, "width: found 1.5, expected a number from 0 to 1"),
        ({"capacity_factor": -1}, "capacity_factor: found -1"),
        ({"subchannels": 200, "dimensions": 3}, "sub-channels .* found 8,000,000"),
        ({"users": 10_000_000, "brokers": 1000}, "users times brokers: found"),
        ({"latency": np.zeros((2, 3))}, "latency: found 2 x 3, expected a square"),
        ({"latency": np.full((2, 2), -1.0)}, "latency: found -1 in row 1, column 1"),
    ],
)
def test_settings_out_of_range_are_named(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        made(**settings)
