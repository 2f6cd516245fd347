"""What there is to fill: brokers by size, or bandwidth to split into brokers; and how
much work a search may do.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.planners.control import Stop


class Effort:
    """Counts work, so that a search ends at the same point every time; `stop` may end
    it earlier."""

    def __init__(self, most: int, stop: Stop) -> None:
        self._left, self._stop = most, stop
        self.stopped = False

    def spend(self, steps: int) -> None:
        self._left -= steps

    @property
    def over(self) -> bool:
        if not self.stopped and self._stop():
            self.stopped = True
        return self.stopped or self._left <= 0


@dataclass(frozen=True, eq=False)
class Pattern:
    """What one broker carries: a number of pairs of each of some topics.

    `size` is the number of the broker's size in its supply; topics descend.
    """

    size: int
    topic: Int64s
    pairs: Int64s

    @property
    def key(self) -> tuple[int, bytes, bytes]:
        return self.size, self.topic.tobytes(), self.pairs.tobytes()

    def entries(self) -> Iterator[tuple[int, int]]:
        """Each topic, with how many pairs it has."""
        return zip(self.topic.tolist(), self.pairs.tolist(), strict=True)

    def load(self, rates: Int64s) -> int:
        return int(rates[self.topic] @ (self.pairs + 1))

    def within(self, left: Int64s) -> "Pattern":
        """What of it is still to be had, with `left` pairs of each topic."""
        pairs = np.minimum(self.pairs, left[self.topic])
        some = pairs > 0
        return Pattern(self.size, self.topic[some], pairs[some])


@dataclass(frozen=True, eq=False)
class Supply:
    """Brokers by size, the largest first; or, with `bandwidth`, as many brokers of up
    to the one size as it suffices for."""

    sizes: Int64s
    counts: Int64s
    bandwidth: int | None = None

    @property
    def empty(self) -> bool:
        if self.bandwidth is not None:
            return self.bandwidth < 2
        return not self.counts.any()

    @property
    def brokers(self) -> Int64s:
        """The size number of each broker."""
        return np.repeat(np.arange(len(self.sizes)), self.counts)

    @property
    def resources(self) -> Int64s:
        """What patterns use up: brokers of each size, or bandwidth."""
        if self.bandwidth is not None:
            return np.array([self.bandwidth])
        return self.counts

    def resource(self, pattern: Pattern) -> int:
        """The number of the resource that a pattern uses."""
        return 0 if self.bandwidth is not None else pattern.size

    def use(self, pattern: Pattern, rates: Int64s) -> int:
        """How much of its resource a pattern uses up."""
        return 1 if self.bandwidth is None else pattern.load(rates)

    def one_of_each(self) -> "Supply":
        """One broker of each size that there is; or what one broker may have."""
        if self.bandwidth is not None:
            return replace(self, bandwidth=min(self.bandwidth, int(self.sizes[0])))
        return replace(self, counts=np.minimum(self.counts, 1))

    def without(self, patterns: list[Pattern], rates: Int64s) -> "Supply":
        """What is left once these patterns are carried."""
        if self.bandwidth is not None:
            used = sum(pattern.load(rates) for pattern in patterns)
            return replace(self, bandwidth=self.bandwidth - used)
        taken = np.bincount([p.size for p in patterns], minlength=len(self.sizes))
        return replace(self, counts=self.counts - taken)

    def fitting(
        self, patterns: Iterable[Pattern], left: Int64s, rates: Int64s
    ) -> list[Pattern]:
        """Patterns one after the other, as far as pairs and brokers go: what there is
        left of each, if there is still room for it."""
        left, rest = left.copy(), self.resources.copy()
        found = []
        for pattern in patterns:
            part = pattern.within(left)
            resource, use = self.resource(part), self.use(part, rates)
            if len(part.topic) and use <= rest[resource]:
                rest[resource] -= use
                left[part.topic] -= part.pairs
                found.append(part)
        return found
