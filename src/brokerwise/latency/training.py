"""Ways to learn latencies, with scikit-learn; the result is kept as plain arrays.

The models of Khare et al. are a polynomial for a topic alone and a network for each
larger number of topics; ours is one for all numbers of topics.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from brokerwise.kernels.latency_model import LEAVES
from brokerwise.latency.evaluation import Choice, Learn, Predict, choose
from brokerwise.latency.models import (
    PAPER,
    PAPER_200,
    UNIFIED,
    PaperModel,
    Queueing,
    UnifiedModel,
    paper_features,
)
from brokerwise.latency.regressors import Network, Polynomial, Regressor, Scaling, Trees
from brokerwise.latency.samples import Samples, Subject
from brokerwise.latency.simplex import minimise
from brokerwise.model.arrays import Float64s, Int64s

DEGREE = 4
ALPHA = 0.1
ITERATIONS = 5000
"""Of the search for the weights of a network: until it converges, mostly."""

_ENDED_EARLY: ContextVar[list[int] | None] = ContextVar("ended early", default=None)

SHORT_ITERATIONS = 200
"""scikit-learn's default. The paper does not say how long its networks were trained,
and a short search overfits less: evaluations show both."""

EVALUATIONS = 120


@dataclass(frozen=True)
class Growth:
    """How trees are grown: steps of `rate`, leaves of at least `least` rows."""

    rounds: int = 100
    rate: float = 0.1
    leaves: int = LEAVES
    least: int = 10


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
    squared weights. What it has found when iterations end is taken as it is."""
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


def hidden_layers(topics: int) -> tuple[int, int]:
    """The layers that the paper found to do for `topics` topics."""
    return (40, 40) if topics <= 5 else (100, 100)


def train_paper(
    subject: Subject, rows: Int64s, *, seed: int, iterations: int = ITERATIONS
) -> PaperModel:
    """Models of these rows of a subject, which hold whole configurations."""
    taken = subject.rows.take(rows)
    logs = subject.samples.logs[rows]
    parts: dict[int, Regressor] = {}
    for k, of in taken.sets():
        inputs = paper_features(taken.processing_ms[of], taken.rate_per_second[of])
        parts[k] = fit_paper(inputs, logs[of.ravel()], k, seed, iterations)
    return PaperModel(parts)


def fit_paper(
    inputs: Float64s,
    logs: Float64s,
    topics: int,
    seed: int,
    iterations: int = ITERATIONS,
) -> Regressor:
    """The paper's recipe for one number of topics."""
    if topics == 1:
        return fit_polynomial(inputs, logs)
    return fit_network(inputs, logs, hidden_layers(topics), seed, iterations)


@dataclass(frozen=True)
class Candidate:
    """How much of the queueing estimate is taken, and how trees are grown for the
    rest."""

    blend: float
    growth: Growth = field(default_factory=Growth)

    def as_json(self) -> dict[str, Any]:
        return {"blend": self.blend, **asdict(self.growth)}


CANDIDATES = (
    Candidate(0.9),
    Candidate(0.8, Growth(least=5)),
    Candidate(0.5, Growth(least=5)),
    Candidate(0.0, Growth(least=5)),
)


def train_unified(
    subject: Subject,
    rows: Int64s,
    *,
    seed: int,
    candidates: Sequence[Candidate] = CANDIDATES,
) -> tuple[UnifiedModel, Choice[Candidate]]:
    """A model of these rows of a subject, with the candidate that is best in
    cross-validation on them.

    A configuration weighs the same whatever number of topics it has: there are fewer
    rows of small ones, and plans need these, too.
    """
    choice = choose(
        subject.samples,
        rows,
        candidates,
        lambda some: _learn_all(subject, some, candidates),
        seed,
    )
    return fit_unified(subject, rows, choice.best), choice


def fit_unified(subject: Subject, rows: Int64s, candidate: Candidate) -> UnifiedModel:
    queueing = fit_queueing(subject, rows)
    return _fit(subject, rows, queueing, subject.features(queueing), candidate)


def fit_queueing(subject: Subject, rows: Int64s) -> Queueing:
    """The overhead, factor and horizon whose estimate varies least around the
    logarithms of p90, but for a constant."""
    logs, weights = subject.samples.logs[rows], _weights(subject, rows)
    least = float(subject.rows.processing_ms[rows].min())

    def queueing(point: Float64s) -> Queueing:
        overhead, factor, horizon = np.exp(np.clip(point, -20, 20)).tolist()
        return Queueing(subject.cores, least * overhead, factor, 1000 * horizon)

    def error(point: Float64s) -> float:
        made = queueing(point)
        apart = made.estimate(subject.features(made)[rows]) - logs
        middle = np.average(apart, weights=weights)
        return float(np.average((apart - middle) ** 2, weights=weights))

    start, steps = np.log([0.05, 1.0, 30.0]), np.array([0.7, 0.1, 0.7])
    best, _ = minimise(error, start, steps, EVALUATIONS)
    return queueing(best)


def _learn_all(
    subject: Subject, rows: Int64s, candidates: Sequence[Candidate]
) -> list[Predict]:
    queueing = fit_queueing(subject, rows)
    features = subject.features(queueing)
    estimate = queueing.estimate(features)

    def predictor(candidate: Candidate) -> Predict:
        model = _fit(subject, rows, queueing, features, candidate)

        def predict(some: Int64s) -> Float64s:
            trees = model.trees.predict(features[some])
            found: Float64s = model.blend * estimate[some] + trees
            return found

        return predict

    return [predictor(candidate) for candidate in candidates]


def _fit(
    subject: Subject,
    rows: Int64s,
    queueing: Queueing,
    features: Float64s,
    candidate: Candidate,
) -> UnifiedModel:
    estimate = queueing.estimate(features[rows])
    rest = subject.samples.logs[rows] - candidate.blend * estimate
    weights = _weights(subject, rows)
    trees = fit_trees(features[rows], rest, weights, candidate.growth)
    most = int(subject.samples.topics[rows].max())
    return UnifiedModel(most, queueing, candidate.blend, trees)


def _weights(subject: Subject, rows: Int64s) -> Float64s:
    return 1.0 / subject.samples.topics[rows]


GROWTHS = (Growth(), Growth(least=5), Growth(leaves=5), Growth(rounds=200))
"""How trees may be grown on a table; the best in cross-validation is taken."""


def learners(subject: Subject) -> dict[str, Learn]:
    """All kinds, on latency data."""

    def paper(rows: Int64s, seed: int, iterations: int = ITERATIONS) -> Predict:
        model = train_paper(subject, rows, seed=seed, iterations=iterations)
        return lambda some: subject.predicted(model, some)

    def unified(rows: Int64s, seed: int) -> Predict:
        model, _ = train_unified(subject, rows, seed=seed)
        return lambda some: subject.predicted(model, some)

    short = partial(paper, iterations=SHORT_ITERATIONS)
    return {PAPER: paper, PAPER_200: short, UNIFIED: unified}


@dataclass(frozen=True, eq=False)
class Matrix:
    """Others' data: whatever numbers are known about each row."""

    samples: Samples
    inputs: Float64s  # of shape (rows, columns)


def table_learners(matrix: Matrix) -> dict[str, Learn]:
    """All kinds on a table, all rows of which have one number of topics.

    There is nothing to make a queueing estimate from. So ours are the trees alone,
    none of which falls where a column rises.
    """
    inputs, logs = matrix.inputs, matrix.samples.logs
    topics = int(matrix.samples.topics.max())

    def paper(rows: Int64s, seed: int, iterations: int = ITERATIONS) -> Predict:
        part = fit_paper(inputs[rows], logs[rows], topics, seed, iterations)
        return _predicting(part, inputs)

    def unified(rows: Int64s, seed: int) -> Predict:
        trees, _ = grow(matrix, rows, seed=seed)
        return _predicting(trees, inputs)

    short = partial(paper, iterations=SHORT_ITERATIONS)
    return {PAPER: paper, PAPER_200: short, UNIFIED: unified}


def grow(
    matrix: Matrix, rows: Int64s, *, seed: int, growths: Sequence[Growth] = GROWTHS
) -> tuple[Trees, Choice[Growth]]:
    """Trees for these rows of a table, grown in the way that is best in
    cross-validation on them."""
    inputs, logs = matrix.inputs, matrix.samples.logs

    def learn_all(some: Int64s) -> list[Predict]:
        every = [fit_trees(inputs[some], logs[some], None, each) for each in growths]
        return [_predicting(trees, inputs) for trees in every]

    choice = choose(matrix.samples, rows, growths, learn_all, seed)
    return fit_trees(inputs[rows], logs[rows], None, choice.best), choice


def _predicting(regressor: Regressor, inputs: Float64s) -> Predict:
    return lambda some: regressor.predict(inputs[some])
