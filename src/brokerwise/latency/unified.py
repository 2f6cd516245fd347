"""Training of our model: one for all numbers of topics."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from brokerwise.latency.choosing import Choice, Predict, choose
from brokerwise.latency.fitting import Growth, fit_trees
from brokerwise.latency.models import Queueing, UnifiedModel
from brokerwise.latency.simplex import minimise
from brokerwise.latency.subject import Subject
from brokerwise.model.arrays import Float64s, Int64s

EVALUATIONS = 120


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
