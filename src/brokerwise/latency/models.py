"""Models that predict latencies of topics that share a broker: plain data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from brokerwise.kernels.latency_model import (
    FEATURES,
    queueing_estimate,
    sharing_features,
)
from brokerwise.latency.regressors import Regressor, Trees
from brokerwise.model.arrays import Float64s, read_only
from brokerwise.model.errors import InputError

PAPER, UNIFIED = KINDS = ("paper", "unified")
PAPER_200 = "paper-200"
"""The paper's recipe, its networks trained for 200 iterations: only evaluated."""
EVALUATED = (PAPER, PAPER_200, UNIFIED)

_BATCH = 1 << 15
_FAR = 50.0


class LatencyModel(Protocol):
    """A predictor that was learned."""

    @property
    def kind(self) -> str: ...

    @property
    def most_topics(self) -> int: ...

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        """See `brokerwise.model.latency.Predictor`."""
        ...

    def logs(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        """The logarithms of the same, as they were learned."""
        ...


@dataclass(frozen=True)
class Queueing:
    """What the queueing estimate of a unified model is made with.

    Attributes
    ----------
    cores
        Of the broker.
    overhead_ms, factor
        A message takes `factor` times its processing and `overhead_ms`.
    horizon_ms
        How long traffic lasts: what a backlog has grown for.
    """

    cores: float
    overhead_ms: float
    factor: float
    horizon_ms: float

    def __post_init__(self) -> None:
        for name in ("cores", "factor", "horizon_ms"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise InputError(f"{name}: found {value:g}, expected a number above 0")
        if not 0 <= self.overhead_ms < np.inf:
            raise InputError(
                f"overhead_ms: found {self.overhead_ms:g}, expected 0 or more"
            )

    def features(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        """FEATURES of each topic of each set, one row each."""
        processing = np.ascontiguousarray(
            processing_ms * self.factor + self.overhead_ms, np.float64
        )
        rates = read_only(np.ascontiguousarray(rate_per_second, np.float64))
        return sharing_features(processing, rates, float(self.cores))

    def estimate(self, features: Float64s) -> Float64s:
        """About the logarithm of the 90th percentile (ms)."""
        return queueing_estimate(features, float(self.horizon_ms))


@dataclass(frozen=True, eq=False)
class UnifiedModel:
    """One model for all numbers of topics: a share of the queueing estimate, and trees
    that rise with each of their features.

    Every feature rises, or stays, when a topic is added or grows, and so does the
    estimate. So does what is predicted: removing a topic never hurts the others.
    """

    most_topics: int
    queueing: Queueing
    blend: float
    trees: Trees
    kind: str = UNIFIED
    monotone: bool = True

    def __post_init__(self) -> None:
        _check_most(self.most_topics)
        if not 0 <= self.blend <= 1:
            raise InputError(f"blend: found {self.blend:g}, expected 0 to 1")
        if self.trees.inputs != len(FEATURES):
            raise InputError(
                f"trees: found {self.trees.inputs} features, expected {len(FEATURES)}"
            )

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        return _ms(self.logs(processing_ms, rate_per_second))

    def logs(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        shape = _checked_shape(self, processing_ms, rate_per_second)
        found = np.empty(shape)
        for part in _parts(shape):
            rows = self.queueing.features(processing_ms[part], rate_per_second[part])
            logs = self.blend * self.queueing.estimate(rows) + self.trees.predict(rows)
            found[part] = logs.reshape(-1, shape[1])
        return found


@dataclass(frozen=True, eq=False)
class PaperModel:
    """The models of Khare et al. (2018): one for each number of topics."""

    parts: Mapping[int, Regressor]
    kind: str = PAPER

    def __post_init__(self) -> None:
        _check_most(len(self.parts))
        if sorted(self.parts) != list(range(1, len(self.parts) + 1)):
            raise InputError(
                f"topics: found models for {sorted(self.parts)}, expected 1, 2, ..."
            )

    @property
    def most_topics(self) -> int:
        return max(self.parts)

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        return _ms(self.logs(processing_ms, rate_per_second))

    def logs(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        shape = _checked_shape(self, processing_ms, rate_per_second)
        found = np.empty(shape)
        for part in _parts(shape):
            rows = paper_features(processing_ms[part], rate_per_second[part])
            found[part] = self.parts[shape[1]].predict(rows).reshape(-1, shape[1])
        return found


def paper_features(processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
    """The paper's inputs of each topic of each set, one row each: p and r of a topic
    alone; else p, r and load of the topic, and the sums of them over the others."""
    p, r = processing_ms, rate_per_second
    own = [p, r]
    if p.shape[1] > 1:
        d = p * r / 1000
        own = [p, r, d]
        own += [x.sum(axis=1, keepdims=True) - x for x in (p, r, d)]
    return np.stack([x.ravel() for x in own], axis=1)


def _ms(logs: Float64s) -> Float64s:
    """What logarithms stand for. A polynomial may say anything far from what it has
    seen; a time stays above 0 and finite."""
    found: Float64s = np.exp(np.clip(logs, -_FAR, _FAR))
    return found


def _check_most(most: int) -> None:
    if most < 1:
        raise InputError(f"most_topics: found {most}, expected at least 1")


def _checked_shape(
    model: LatencyModel, processing_ms: Float64s, rate_per_second: Float64s
) -> tuple[int, int]:
    shape = processing_ms.shape
    if len(shape) != 2 or shape != rate_per_second.shape or shape[1] < 1:
        raise InputError(
            f"sets of topics: found shapes {shape} and {rate_per_second.shape}, "
            "expected (sets, topics) for both"
        )
    if shape[1] > model.most_topics:
        raise InputError(
            f"the latency model knows up to {model.most_topics} topics on a broker, "
            f"and was asked about {shape[1]}",
            hint="Train one with data of so many topics, or allow fewer on a broker.",
        )
    return shape[0], shape[1]


def _parts(shape: tuple[int, int]) -> Iterator[slice]:
    """Sets in batches whose features fit in a cache or so."""
    step = max(1, _BATCH // shape[1])
    for begin in range(0, shape[0], step):
        yield slice(begin, begin + step)
