"""Predictors for tests: queueing formulas, tables drawn at random, and one that learns
nothing from its neighbours."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from brokerwise.model.arrays import Float64s


@dataclass
class Queueing:
    """A broker with one core as an M/G/1 queue, roughly: the p90 of a topic is its
    processing time and 2.3 times the mean wait. Monotone in everything."""

    most_topics: int = 6
    cores: float = 1.0
    monotone: bool = True
    calls: int = field(default=0, compare=False)

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        self.calls += 1
        load = (processing_ms * rate_per_second).sum(1, keepdims=True) / 1000
        second = (processing_ms**2 * rate_per_second).sum(1, keepdims=True) / 1000
        free = np.maximum(self.cores - load, 1e-9)
        return np.asarray(processing_ms + 2.3 * second / (2 * self.cores * free))


@dataclass
class Random:
    """Every set of processing times and rates has latencies of its own, as if thrown
    with dice: `share` of the sets are below 100 ms for all. Nothing is monotone."""

    share: float = 0.7
    seed: int = 0
    most_topics: int = 6
    monotone: bool = False

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        found = np.empty(processing_ms.shape)
        for at, (p, r) in enumerate(zip(processing_ms, rate_per_second, strict=True)):
            text = repr((self.seed, sorted(zip(p.tolist(), r.tolist(), strict=True))))
            drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            fits = len(p) == 1 or drawn / 2**64 < self.share
            found[at] = 50.0 if fits else 150.0
        return found


@dataclass
class Counting:
    """Another predictor, with the shapes of all that it was asked."""

    of: Queueing | Random
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def most_topics(self) -> int:
        return self.of.most_topics

    @property
    def monotone(self) -> bool:
        return self.of.monotone

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        self.shapes.append(processing_ms.shape)
        return self.of.p90_ms(processing_ms, rate_per_second)


@dataclass
class Function:
    """Latencies by a function of (processing, rate), sets by rows."""

    function: Callable[[Float64s, Float64s], Float64s]
    most_topics: int = 6
    monotone: bool = False

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        return np.asarray(self.function(processing_ms, rate_per_second))
