"""Spreading numbers out."""

import math
from dataclasses import dataclass

from brokerwise.model.arrays import Int64s

# Multiples of these, modulo one, fill the unit interval most evenly.
GOLDEN = (math.sqrt(5) - 1) / 2
SILVER = math.sqrt(2) - 1


@dataclass(frozen=True)
class Scatter:
    """A one-to-one map of 0..count-1 onto itself that sends neighbours far apart.

    Any run of numbers lands evenly over the whole range.
    """

    count: int
    step: int
    shift: int

    @classmethod
    def of(cls, count: int, ratio: float, shift: int) -> "Scatter":
        """The map whose step is near `ratio` of the range."""
        step = max(1, round(count * ratio))
        while math.gcd(step, count) != 1:
            step += 1
        return cls(count, step, shift % count)

    def __call__(self, numbers: Int64s) -> Int64s:
        return (numbers * self.step + self.shift) % self.count
