"""Learning with scikit-learn, the result of which is kept as plain arrays."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.kernels.latency_trees import LEAVES
from brokerwise.latency.regressors import Network, Polynomial, Scaling, Trees
from brokerwise.model.arrays import Float64s

DEGREE = 4
ALPHA = 0.1
ITERATIONS = 5000
"""Of the search for the weights of a network: until it converges, mostly."""


@dataclass(frozen=True)
class Growth:
    """How trees are grown: steps of `rate`, leaves of at least `least` rows."""

    rounds: int = 100
    rate: float = 0.1
    leaves: int = LEAVES
    least: int = 10


_ENDED_EARLY: ContextVar[list[int] | None] = ContextVar("ended early", default=None)


@contextmanager
def ended_early() -> Iterator[list[int]]:
    """Collects, for every network whose search was ended before it had converged, the
    number of rows it was given."""
    rows: list[int] = []
    token = _ENDED_EARLY.set(rows)
    try:
        yield rows
    finally:
        _ENDED_EARLY.reset(token)


@contextmanager
def one_thread() -> Iterator[None]:
    """The same sums in the same order, on any number of cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def fit_polynomial(rows: Float64s, logs: Float64s, degree: int = DEGREE) -> Polynomial:
    """Least squares on all products of powers of the inputs up to a degree in all.

    Inputs are scaled first: powers of large numbers would be all alike. An input that
    never changes takes part in none.
    """
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import PolynomialFeatures

    scaling = _scaling(rows)
    with one_thread():
        powers = PolynomialFeatures(degree)
        terms = powers.fit_transform(scaling(rows))
        fitted = LinearRegression(fit_intercept=False).fit(terms, logs)
    return Polynomial(scaling, powers.powers_, fitted.coef_)


def fit_network(
    rows: Float64s,
    logs: Float64s,
    hidden: Sequence[int],
    seed: int,
    iterations: int = ITERATIONS,
) -> Network:
    """A network with relu between its layers, found by L-BFGS with a penalty on
    squared weights. What it has found after so many iterations is taken as it is."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    scaling = _scaling(rows)
    learner = MLPRegressor(
        hidden_layer_sizes=tuple(hidden),
        activation="relu",
        solver="lbfgs",
        alpha=ALPHA,
        max_iter=iterations,
        max_fun=10 * iterations,
        random_state=seed,
    )
    with one_thread(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        learner.fit(scaling(rows), logs)
    early = _ENDED_EARLY.get()
    if early is not None and any(w.category is ConvergenceWarning for w in said):
        early.append(len(rows))
    return Network(scaling, learner.coefs_, learner.intercepts_)


def fit_trees(
    rows: Float64s, logs: Float64s, weights: Float64s | None, growth: Growth
) -> Trees:
    """Gradient boosting of trees none of which falls where an input rises."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    learner = HistGradientBoostingRegressor(
        max_iter=growth.rounds,
        learning_rate=growth.rate,
        max_leaf_nodes=growth.leaves,
        min_samples_leaf=growth.least,
        monotonic_cst=[1] * rows.shape[1],
        early_stopping=False,
    )
    with one_thread():
        learner.fit(rows, logs, sample_weight=weights)
    return trees_of(learner, rows.shape[1])


def trees_of(learner: Any, inputs: int) -> Trees:
    """The trees of a HistGradientBoostingRegressor, which has no other way to say."""
    every = [each[0].nodes for each in learner._predictors]  # noqa: SLF001
    nodes = np.concatenate(every)
    leaf = nodes["is_leaf"].astype(np.bool_)
    return Trees(
        inputs=inputs,
        first=float(np.ravel(learner._baseline_prediction)[0]),  # noqa: SLF001
        tree=np.repeat(np.arange(len(every)), [len(each) for each in every]),
        feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int32),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        left=np.where(leaf, 0, nodes["left"]).astype(np.int32),
        right=np.where(leaf, 0, nodes["right"]).astype(np.int32),
        value=np.where(leaf, nodes["value"], 0.0),
    )


def _scaling(rows: Float64s) -> Scaling:
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    flat = scale <= 1e-12 * np.maximum(1.0, np.abs(mean))
    return Scaling(mean, np.where(flat, 1.0, scale))
