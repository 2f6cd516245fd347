"""What was learned, as plain arrays: the same numbers as scikit-learn's, or refused."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tests.latency.model_cases import trees

from brokerwise.latency.regressors import Network, Polynomial, Scaling
from brokerwise.latency.training import (
    ALPHA,
    Growth,
    fit_network,
    fit_polynomial,
    fit_trees,
)
from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError


def data(inputs: int, count: int = 200) -> tuple[Float64s, Float64s]:
    random = np.random.default_rng(inputs)
    rows = random.uniform(1, 300, (count, inputs))
    return rows, np.log(rows.sum(axis=1)) + (rows[:, 0] > 150)


def test_a_polynomial_predicts_what_scikit_learn_does() -> None:
    rows, logs = data(2)
    theirs = make_pipeline(StandardScaler(), PolynomialFeatures(4), LinearRegression())
    theirs.fit(rows, logs)
    ours = fit_polynomial(rows, logs)
    assert ours.powers.sum(axis=1).max() == 4 and len(ours.powers) == 15
    others, _ = data(2, 500)
    assert ours.predict(others) == pytest.approx(theirs.predict(others), abs=1e-9)


def test_a_column_that_never_changes_takes_no_part_in_a_polynomial() -> None:
    rows, logs = data(2)
    flat = np.column_stack([rows, np.full(len(rows), 7.0)])
    ours, without = fit_polynomial(flat, logs), fit_polynomial(rows, logs)
    flat[:, 2] = 1000.0
    assert ours.predict(flat) == pytest.approx(without.predict(rows), abs=1e-6)


def test_a_network_predicts_what_scikit_learn_does() -> None:
    rows, logs = data(6, 80)
    scaler = StandardScaler().fit(rows)
    theirs = MLPRegressor(
        hidden_layer_sizes=(8, 5),
        activation="relu",
        solver="lbfgs",
        alpha=ALPHA,
        max_iter=5000,
        max_fun=50_000,
        random_state=3,
    ).fit(scaler.transform(rows), logs)
    ours = fit_network(rows, logs, (8, 5), seed=3)
    others, _ = data(6, 500)
    expected = theirs.predict(scaler.transform(others))
    assert ours.predict(others) == pytest.approx(expected, abs=1e-9)


def test_trees_never_fall_where_an_input_rises() -> None:
    rows, logs = data(3)
    grown = fit_trees(rows, logs - rows[:, 1] / 100, None, Growth(rounds=30))
    others, _ = data(3, 300)
    higher = others + np.random.default_rng(0).uniform(0, 50, others.shape)
    assert (grown.predict(higher) >= grown.predict(others)).all()


def test_trees_add_up() -> None:
    row = np.zeros((4, 14))
    row[:, 0] = [1.5, 1.6, 9.0, 9.0]
    row[:, 2] = [0.0, -3.0, -3.0, -2.9]
    assert trees().predict(row).tolist() == [11.5, 12.5, 12.5, 14.5]


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a child that is its own parent": ({"left": [0, 0, 0, 2, 0, 0]}, "left of node 2"),
    "a child before its parent": ({"right": [0, 2, 0, 1, 0, 0]}, "right of node 4"),
    "a child of another tree": ({"right": [0, 2, 0, 5, 0, 0]}, "right of node 4"),
    "a child below 0": ({"left": [0, 1, 0, -3, 0, 0]}, "left of node 4"),
    "two parents": ({"left": [0, 1, 0, 4, 0, 0]}, "parents of node"),
    "nobody's child": ({"left": [0, 1, 0, 0, 0, 0], "right": [0] * 6}, "of node 2"),
    "a feature that is not there": ({"feature": [0, 14, 0, 2, 0, 0]}, "feature of"),
    "a feature below 0": ({"feature": [0, 0, 0, -1, 0, 0]}, "feature of node 4"),
    "no number as a value": ({"value": [np.nan, 0, 1, 0, 2, 4.0]}, "value: found nan"),
    "an endless threshold": ({"threshold": [0, np.inf, 0, 0, 0, 0.0]}, "threshold"),
    "no number to begin with": ({"first": np.nan}, "first: found nan"),
    "a column that is too short": ({"value": [1.0]}, "value of trees: found 1"),
    "trees in disorder": ({"tree": [1, 0, 0, 0, 0, 0]}, "tree: expected 0, 1"),
    "a tree that is left out": ({"tree": [0, 2, 2, 2, 2, 2]}, "tree: expected 0, 1"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_trees_that_are_none_are_refused(case: str) -> None:
    changed, message = BROKEN[case]
    arrays = {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in changed.items()
    }
    with pytest.raises(InputError, match=message):
        trees(**arrays)


def test_a_tree_has_at_most_eight_leaves() -> None:
    count = 17  # a vine: each inner node has a leaf at its left
    left, right = np.zeros((2, count), np.int32)
    left[:-1:2], right[:-1:2] = np.arange(1, count, 2), np.arange(2, count, 2)
    with pytest.raises(InputError, match="one of 9 leaves, expected at most 8"):
        trees(
            tree=np.zeros(count, np.int32),
            feature=np.zeros(count, np.int32),
            threshold=np.zeros(count),
            left=left,
            right=right,
            value=np.zeros(count),
        )


def test_networks_and_polynomials_of_wrong_shape_are_refused() -> None:
    two = Scaling(np.zeros(2), np.ones(2))
    one = np.ones((2, 1))
    with pytest.raises(InputError, match="above 0"):
        Scaling(np.zeros(2), np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="mean: found nan"):
        Scaling(np.array([np.nan, 0.0]), np.ones(2))
    with pytest.raises(InputError, match=r"powers: found shape \(1, 1\)"):
        Polynomial(two, np.array([[1]]), np.ones(1))
    with pytest.raises(InputError, match="each from 0 to 100"):
        Polynomial(two, np.array([[-1, 1]]), np.ones(1))
    with pytest.raises(InputError, match="weights and biases for each layer"):
        Network(two, [one], [])
    with pytest.raises(InputError, match=r"weights of layer 1: found shape \(2, 1\)"):
        Network(two, [np.ones((2, 3)), one], [np.ones(3), np.ones(1)])
    with pytest.raises(InputError, match="found 3 outputs, expected 1"):
        Network(two, [np.ones((2, 3))], [np.ones(3)])
    with pytest.raises(InputError, match="biases of layer 0: found inf"):
        Network(two, [one], [np.array([np.inf])])
