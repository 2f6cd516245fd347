"""How well something is learned: over many splits, from more and more data, and which
of a few ways to learn is best on data that it has not seen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from brokerwise.latency.samples import LEAST, Samples
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError

FOLDS = 3

Candidate = TypeVar("Candidate")
Predict = Callable[[Int64s], Float64s]
"""From numbers of rows to the logarithms that are predicted for them."""

LearnAll = Callable[[Int64s], Sequence[Predict]]
"""From the rows to learn from to what each candidate, in order, predicts."""

Learn = Callable[[Int64s, int], Predict]
"""From the rows to learn from, and a seed, to what is predicted."""

SPLITS = 20
TEST_SHARE = 0.2
CURVE = 6
"""Points of a learning curve, from as few configurations as can be learned from."""


def r2(logs: Float64s, predicted: Float64s) -> float:
    """1 less the squared errors over those of the mean; NaN where nothing varies."""
    spread = float(np.sum((logs - logs.mean()) ** 2))
    errors = float(np.sum((logs - predicted) ** 2))
    return 1 - errors / spread if spread > 0 else float("nan")


def rmse(logs: Float64s, predicted: Float64s) -> float:
    """The root of the mean squared error: 0.1 is about 10 %."""
    return float(np.sqrt(np.mean((logs - predicted) ** 2)))


@dataclass(frozen=True)
class Verdicts:
    """What predictions say about a target, and what is true.

    Attributes
    ----------
    accepted
        Topics that were predicted to meet the target, with the margin.
    missed
        Those among them that did not: false negatives. They cost targets.
    met
        Topics that did meet it.
    refused
        Those among them that were not predicted to: false positives. They cost
        brokers.
    """

    accepted: int
    missed: int
    met: int
    refused: int

    @property
    def missed_share(self) -> float | None:
        return self.missed / self.accepted if self.accepted else None

    @property
    def refused_share(self) -> float | None:
        return self.refused / self.met if self.met else None

    def as_json(self) -> dict[str, float | None]:
        return {
            "accepted": self.accepted,
            "missed": self.missed,
            "missed_share": self.missed_share,
            "met": self.met,
            "refused": self.refused,
            "refused_share": self.refused_share,
        }


def verdicts(
    logs: Float64s, predicted: Float64s, target_ms: float, margin: float
) -> Verdicts:
    """Whether each p90 meets the target, and is predicted to stay below it by the
    margin; both arguments are logarithms."""
    accepted = predicted <= np.log(target_ms * (1 - margin))
    met = logs <= np.log(target_ms)
    return Verdicts(
        int(accepted.sum()),
        int((accepted & ~met).sum()),
        int(met.sum()),
        int((met & ~accepted).sum()),
    )


def added(every: Sequence[Verdicts]) -> Verdicts:
    return Verdicts(
        sum(each.accepted for each in every),
        sum(each.missed for each in every),
        sum(each.met for each in every),
        sum(each.refused for each in every),
    )


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


@dataclass(frozen=True)
class Target:
    """The p90 (ms) that must not be exceeded, and the share of it that predictions
    must stay below."""

    ms: float
    margin: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.ms < np.inf:
            raise InputError(f"target: found {self.ms:g} ms, expected more than 0")
        if not 0 <= self.margin < 1:
            raise InputError(
                f"margin: found {self.margin:g}, expected 0 or more, and less than 1"
            )


@dataclass(frozen=True)
class Splits:
    """How often, and how many of the configurations are held back to test on."""

    count: int = SPLITS
    share: float = TEST_SHARE
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 < self.share < 1:
            raise InputError(
                f"splits: found {self.count} with {self.share:g} held back, expected "
                "at least 1, and a share between 0 and 1"
            )

    def of(self, samples: Samples) -> Iterator[tuple[int, Int64s, Int64s]]:
        """For each split its seed, the rows to learn from and those to test on."""
        for number in range(self.count):
            seed = self.seed + number
            yield seed, *samples.part(samples.every, self.share, seed)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one way to learn came to, for each number of topics.

    Attributes
    ----------
    train, test
        R^2 of each split.
    verdicts
        On what was held back, of all splits together.
    held
        What was predicted for each row when it was first held back, as a logarithm;
        NaN for one that never was.
    """

    train: Mapping[int, Sequence[float]]
    test: Mapping[int, Sequence[float]]
    verdicts: Mapping[int, Verdicts]
    held: Float64s

    def as_json(self, k: int) -> dict[str, Any]:
        return {
            "train": mean_and_deviation(self.train[k]),
            "test": mean_and_deviation(self.test[k]),
            "verdicts": self.verdicts[k].as_json() if k in self.verdicts else None,
        }


def evaluate(
    samples: Samples, learn: Learn, splits: Splits, target: Target | None = None
) -> Evaluation:
    """Learn from each split's part and see how the other part is predicted."""
    tally = _Tally(samples, target)
    for seed, train, test in splits.of(samples):
        predict = learn(train, seed)
        tally.add(train, predict(train), test, predict(test))
    return tally.evaluation()


@dataclass
class _Tally:
    samples: Samples
    target: Target | None
    train: dict[int, list[float]] = field(default_factory=dict)
    test: dict[int, list[float]] = field(default_factory=dict)
    verdicts: dict[int, list[Verdicts]] = field(default_factory=dict)
    held: Float64s = field(init=False)

    def __post_init__(self) -> None:
        self.held = np.full(len(self.samples), np.nan)

    def add(
        self, train: Int64s, of_train: Float64s, test: Int64s, of_test: Float64s
    ) -> None:
        for k, score in by_topics(self.samples, train, of_train).items():
            self.train.setdefault(k, []).append(score)
        for k, score in by_topics(self.samples, test, of_test).items():
            self.test.setdefault(k, []).append(score)
        if self.target is not None:
            found = verdicts_by_topics(self.samples, test, of_test, self.target)
            for k, each in found.items():
                self.verdicts.setdefault(k, []).append(each)
        new = np.isnan(self.held[test])
        self.held[test[new]] = of_test[new]

    def evaluation(self) -> Evaluation:
        every = {k: added(each) for k, each in self.verdicts.items()}
        return Evaluation(self.train, self.test, every, self.held)


def verdicts_by_topics(
    samples: Samples, rows: Int64s, predicted: Float64s, target: Target
) -> dict[int, Verdicts]:
    topics, logs = samples.topics[rows], samples.logs[rows]
    return {
        k: verdicts(logs[topics == k], predicted[topics == k], target.ms, target.margin)
        for k in np.unique(topics).tolist()
    }


@dataclass(frozen=True)
class CurvePoint:
    """Errors (root mean square, of logarithms) with so many configurations to learn
    from, on these and on others: means over splits."""

    topics: int
    configurations: int
    train: float
    validation: float


def learning_curve(
    samples: Samples, learn: Learn, splits: Splits, points: int = CURVE
) -> list[CurvePoint]:
    """Errors against the number of configurations; those held back stay the same."""
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for seed, train, test in splits.of(samples):
        for share in _shares(samples, train, points):
            some = train if share >= 1 else samples.part(train, share, seed)[1]
            predict = learn(some, seed)
            own, others = (_errors(samples, part, predict) for part in (some, test))
            for k, groups in samples.groups(some):
                pair = own[k], others[k]
                found.setdefault((k, len(groups)), []).append(pair)
    return [
        CurvePoint(k, size, *np.mean(pairs, axis=0).tolist())
        for (k, size), pairs in sorted(found.items())
    ]


def _shares(samples: Samples, rows: Int64s, points: int) -> list[float]:
    """Shares of the configurations: LEAST of the fewest there are of a number of
    topics, and in equal steps of their logarithm up to all."""
    fewest = min(len(groups) for _, groups in samples.groups(rows))
    first = min(1.0, LEAST / fewest)
    return sorted(set(np.geomspace(first, 1.0, points).tolist()))


def _errors(samples: Samples, rows: Int64s, predict: Predict) -> dict[int, float]:
    predicted, topics, logs = predict(rows), samples.topics[rows], samples.logs[rows]
    return {
        k: rmse(logs[topics == k], predicted[topics == k])
        for k in np.unique(topics).tolist()
    }


def mean_and_deviation(values: Sequence[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "deviation": float(np.std(values))}
