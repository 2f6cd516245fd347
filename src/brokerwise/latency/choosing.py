"""Choosing among a few ways to learn, on data that each has not seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from brokerwise.latency.samples import Samples
from brokerwise.latency.scores import r2
from brokerwise.model.arrays import Float64s, Int64s

FOLDS = 3

Candidate = TypeVar("Candidate")
Predict = Callable[[Int64s], Float64s]
"""From numbers of rows to the logarithms that are predicted for them."""

LearnAll = Callable[[Int64s], Sequence[Predict]]
"""From the rows to learn from to what each candidate, in order, predicts."""


@dataclass(frozen=True)
class Choice(Generic[Candidate]):
    """Candidates, the best of them, and what each came to: R^2 by number of topics,
    and the mean of these, which decides."""

    candidates: Sequence[Candidate]
    best: Candidate
    scores: Sequence[Mapping[int, float]]
    means: Sequence[float]


def choose(
    samples: Samples,
    rows: Int64s,
    candidates: Sequence[Candidate],
    learn: LearnAll,
    seed: int,
) -> Choice[Candidate]:
    """Cross-validate: each of a few folds of configurations is predicted by what was
    learned from the others. Of equally good candidates the first is taken."""
    predicted = np.empty((len(candidates), len(rows)))
    for held in samples.folds(rows, FOLDS, seed):
        for at, predict in enumerate(learn(rows[~held])):
            predicted[at, held] = predict(rows[held])
    scores = [by_topics(samples, rows, each) for each in predicted]
    means = [float(np.mean(list(each.values()))) for each in scores]
    return Choice(candidates, candidates[int(np.argmax(means))], scores, means)


def by_topics(samples: Samples, rows: Int64s, predicted: Float64s) -> dict[int, float]:
    """R^2 of predictions for rows, for each number of topics."""
    topics, logs = samples.topics[rows], samples.logs[rows]
    return {
        k: r2(logs[topics == k], predicted[topics == k])
        for k in np.unique(topics).tolist()
    }
