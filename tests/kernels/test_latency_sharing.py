"""What latencies follow from: shares of cores, and that nothing falls that must not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import latency_sharing
from brokerwise.kernels.latency_sharing import (
    FEATURES,
    OVER,
    STRETCHED,
    queueing_estimate,
    sharing_features,
)
from brokerwise.model.arrays import Float64s, read_only

times = st.floats(0.1, 50)
rates = st.floats(0.01, 1000)
topics = st.lists(st.tuples(times, rates), min_size=1, max_size=6)
cores = st.sampled_from((1.0, 2.0, 4.0))


def features(some: list[tuple[float, float]], cores: float) -> Float64s:
    p, r = np.array(some, np.float64).T.copy()[:, None, :]
    return sharing_features(p, read_only(r), cores)


@given(some=topics, more=topics, cores=cores)
def test_no_feature_falls_when_topics_are_added(
    some: list[tuple[float, float]], more: list[tuple[float, float]], cores: float
) -> None:
    fewer = features(some, cores)
    assert (features(some + more, cores)[: len(some)] >= fewer).all()
    assert (features(more + some, cores)[len(more) :] >= fewer).all()


@given(some=topics, cores=cores, times=st.floats(1, 3), data=st.data())
def test_no_feature_falls_when_a_topic_grows(
    some: list[tuple[float, float]], cores: float, times: float, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(some) - 1))
    before = features(some, cores)
    p, r = some[at]
    for grown in ((p * times, r), (p, r * times)):
        changed = [*some[:at], grown, *some[at + 1 :]]
        assert (features(changed, cores) >= before).all()


@given(some=topics, cores=cores, seed=st.integers(0, 100))
def test_the_order_of_topics_makes_no_difference(
    some: list[tuple[float, float]], cores: float, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(some))
    mixed = features([some[at] for at in order], cores)
    assert mixed.tolist() == features(some, cores)[order].tolist()


@given(some=topics, cores=cores)
def test_a_share_is_the_level_to_which_cores_are_filled(
    some: list[tuple[float, float]], cores: float
) -> None:
    found = features(some, cores)
    for at, (p, r) in enumerate(some):
        others = [q * s / 1000 for q, s in some[:at] + some[at + 1 :]]

        low, high = 0.0, 1.0
        for _ in range(60):
            share = (low + high) / 2
            used = share + sum(min(load, share) for load in others)
            low, high = (share, high) if used <= cores else (low, share)
        assert found[at, STRETCHED] == pytest.approx(p / share, rel=1e-9)
        assert found[at, OVER] == pytest.approx(p * r / 1000 / share, rel=1e-9)


def test_features_are_what_they_are_called() -> None:
    row = features([(5, 100), (2, 50), (8, 25)], 1.0)[0]
    assert dict(zip(FEATURES, row.tolist(), strict=True)) == pytest.approx(
        {
            "own processing": 5,
            "own rate": 100,
            "own load": 0.5,
            "processing of others": 10,
            "rate of others": 75,
            "load of others": 0.3,
            "longest processing of others": 8,
            "number of others": 2,
            "load of all": 0.8,
            "own load over own share": 0.5 / 0.7,
            "own processing over own share": 5 / 0.7,
            # 0.1 of what 0.2 and a greedy topic leave of the core, and 0.2 of what
            # 0.1 and half of the rest leave
            "others that are busy": 0.1 / 0.4 + 0.2 / 0.45,
            "processing while others are busy": 5 * (1 + 0.25 + 0.2 / 0.45),
            "processing and waiting over own share": 5 / 0.7 * (1 + 1.15 * 2.5),
        }
    )


@given(some=topics, cores=cores, horizon=st.floats(100, 1e6))
def test_the_wait_solves_its_equation(
    some: list[tuple[float, float]], cores: float, horizon: float
) -> None:
    found = features(some, cores)
    total = np.exp(queueing_estimate(found, horizon))
    u, s = found[:, OVER], found[:, STRETCHED]
    w = np.maximum(total - s, 0)
    terms = np.stack([w**2 / horizon, w * (1 - u) / (1.15 * u), -s])
    assert np.abs(terms.sum(axis=0)).max() <= 1e-6 * np.abs(terms).max()


def test_far_above_saturation_the_wait_is_in_proportion_to_the_time() -> None:
    one = features([(10, 300)], 1.0)  # three times what a core can do
    short, long = (queueing_estimate(one, horizon)[0] for horizon in (1e5, 2e5))
    assert np.exp(long - short) == pytest.approx(2, rel=0.01)
    assert np.exp(short) == pytest.approx(1e5 * 2 / 3 / 1.15, rel=0.01)


def test_no_place_is_out_of_range() -> None:
    random = np.random.default_rng(0)
    p, r = random.uniform(1, 10, (20, 4)), random.uniform(1, 200, (20, 4))
    compiled = sharing_features(p, read_only(r), 2.0)
    with interpreted(latency_sharing):
        plain = latency_sharing.sharing_features(p, r, 2.0)
        estimate = latency_sharing.queueing_estimate(plain, 1e4)
    assert plain == pytest.approx(compiled, rel=1e-12)
    assert estimate == pytest.approx(queueing_estimate(compiled, 1e4), rel=1e-12)
