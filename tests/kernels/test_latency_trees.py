"""Sums of trees by bits, against trees that are walked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import latency_trees
from brokerwise.kernels.latency_trees import LEAVES
from brokerwise.latency.fitting import trees_of
from brokerwise.latency.regressors import Trees
from brokerwise.model.arrays import Float64s

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


def test_no_place_is_out_of_range() -> None:
    trees = grown(3, 12)
    matrix = np.random.default_rng(0).normal(size=(40, INPUTS))
    compiled = trees.predict(matrix)
    with interpreted(latency_trees):
        bounds, thresholds, _, _ = trees._tables  # noqa: SLF001
        allowed, values = latency_trees.leaves_allowed(
            trees.starts,
            trees.feature,
            trees.threshold,
            trees.left,
            trees.right,
            trees.value,
            bounds,
            thresholds,
        )
        plain = latency_trees.predict_trees(
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
