"""How well something is learned: over many splits, and from more and more data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brokerwise.latency.choosing import Predict, by_topics
from brokerwise.latency.samples import LEAST, Samples
from brokerwise.latency.scores import Verdicts, added, rmse, verdicts
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError

Learn = Callable[[Int64s, int], Predict]
"""From the rows to learn from, and a seed, to what is predicted."""

SPLITS = 20
TEST_SHARE = 0.2
CURVE = 6
"""Points of a learning curve, from as few configurations as can be learned from."""


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
