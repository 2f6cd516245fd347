"""Features of topics that share a broker, and sums of trees, against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import latency_model
from brokerwise.kernels.latency_model import (
    FEATURES,
    LEAVES,
    OVER,
    STRETCHED,
    queueing_estimate,
    sharing_features,
)
from brokerwise.latency.regressors import Trees
from brokerwise.latency.training import trees_of
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


def test_no_place_of_a_feature_is_out_of_range() -> None:
    random = np.random.default_rng(0)
    p, r = random.uniform(1, 10, (20, 4)), random.uniform(1, 200, (20, 4))
    compiled = sharing_features(p, read_only(r), 2.0)
    with interpreted(latency_model):
        plain = latency_model.sharing_features(p, r, 2.0)
        estimate = latency_model.queueing_estimate(plain, 1e4)
    assert plain == pytest.approx(compiled, rel=1e-12)
    assert estimate == pytest.approx(queueing_estimate(compiled, 1e4), rel=1e-12)


INPUTS = 3


def grown(seed: int, count: int) -> Trees:
    """Trees of any shape; thresholds are few, so that rows meet them exactly."""
    random = np.random.default_rng(seed)
    nodes: list[list[float]] = []
    for tree in range(count):
        children: dict[int, tuple[int, int]] = {}
        leaves, size = [0], 1
        for _ in range(random.integers(0, LEAVES)):
            node = leaves.pop(random.integers(len(leaves)))
            children[node] = (size, size + 1)
            leaves += [size, size + 1]
            size += 2
        for node in range(size):
            feature = float(random.integers(INPUTS))
            threshold = float(random.integers(-2, 3))
            left, right = children.get(node, (0, 0))
            nodes.append([tree, feature, threshold, left, right, random.normal()])
    numbers = np.array(nodes).T.copy()
    whole = numbers.astype(np.int32)
    return Trees(
        INPUTS, 0.25, whole[0], whole[1], numbers[2], whole[3], whole[4], numbers[5]
    )


def walked(trees: Trees, row: Float64s) -> float:
    total = trees.first
    for start in trees.starts[:-1].tolist():
        at = start
        while trees.left[at]:
            low = row[trees.feature[at]] <= trees.threshold[at]
            at = start + int((trees.left if low else trees.right)[at])
        total += trees.value[at]
    return total


@given(seed=st.integers(0, 10**6), count=st.integers(1, 40), rows=st.integers(0, 70))
def test_bits_lead_to_the_leaves_that_a_walk_comes_to(
    seed: int, count: int, rows: int
) -> None:
    trees = grown(seed, count)
    random = np.random.default_rng(seed + 1)
    matrix = (
        random.integers(-3, 4, (rows, INPUTS)) + random.choice([0, 0.5], rows)[:, None]
    )
    assert trees.predict(matrix).tolist() == [walked(trees, row) for row in matrix]


def test_no_place_of_a_tree_is_out_of_range() -> None:
    trees = grown(3, 12)
    matrix = np.random.default_rng(0).normal(size=(40, INPUTS))
    compiled = trees.predict(matrix)
    with interpreted(latency_model):
        bounds, thresholds, _, _ = trees._tables  # noqa: SLF001
        allowed, values = latency_model.leaves_allowed(
            trees.starts,
            trees.feature,
            trees.threshold,
            trees.left,
            trees.right,
            trees.value,
            bounds,
            thresholds,
        )
        plain = latency_model.predict_trees(
            matrix, bounds, thresholds, allowed, values, trees.first
        )
    assert plain.tolist() == compiled.tolist()


@pytest.mark.parametrize("leaves", [2, LEAVES])
def test_what_is_predicted_is_what_scikit_learn_predicts(leaves: int) -> None:
    random = np.random.default_rng(5)
    rows = random.integers(0, 12, (300, 4)) / 4
    learner = HistGradientBoostingRegressor(
        max_iter=25,
        max_leaf_nodes=leaves,
        monotonic_cst=[1, 1, 0, 0],
        min_samples_leaf=3,
    ).fit(rows, np.sin(rows).sum(axis=1))
    others = np.vstack([rows, random.normal(1, 2, (300, 4))])
    found = trees_of(learner, 4).predict(others)
    assert found.tolist() == learner.predict(others).tolist()
