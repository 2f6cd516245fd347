"""The content space, cut into a grid of sub-channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s
from brokerwise.model.errors import InputError

MOST_SUBCHANNELS = 1_000_000
_SHOWN = 8  # edges, in an error


@dataclass(frozen=True)
class Axis:
    """A numeric attribute, cut at `edges`; interval k is [edges[k], edges[k + 1]).

    The last interval has its upper edge too.
    """

    attribute: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(float(edge) for edge in self.edges))
        if not self.attribute:
            raise InputError("attribute: found an empty name")
        rising = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) < 2 or not rising or not all(map(isfinite, self.edges)):
            found = ", ".join(f"{edge:g}" for edge in self.edges[:_SHOWN]) or "none"
            found += ", ..." if len(self.edges) > _SHOWN else ""
            raise InputError(
                f"edges of attribute {self.attribute!r}: found {found}, "
                "expected at least two numbers that rise"
            )

    @property
    def intervals(self) -> int:
        return len(self.edges) - 1

    def intervals_of(self, values: Float64s) -> Int32s:
        """The interval of each value; -1 for what is outside of the space."""
        edges = np.asarray(self.edges)
        found = np.searchsorted(edges, values, side="right") - 1
        found[values == edges[-1]] = self.intervals - 1
        outside = ~((values >= edges[0]) & (values <= edges[-1]))
        found[outside] = -1
        return found.astype(np.int32)


@dataclass(frozen=True)
class Subchannels:
    """All cells of the grid, numbered with the last axis running fastest."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(self.axes))
        if not self.axes:
            raise InputError("sub-channels: found no attribute, expected at least one")
        names = [axis.attribute for axis in self.axes]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"sub-channels: attribute {name!r} is there twice")
        if len(self) > MOST_SUBCHANNELS:
            raise InputError(
                f"sub-channels: found {len(self):,}, expected at most "
                f"{MOST_SUBCHANNELS:,}"
            )

    @classmethod
    def equal_width(
        cls, attributes: Sequence[str], low: float, high: float, intervals: int
    ) -> "Subchannels":
        """The same equal intervals of [low, high] for each attribute."""
        edges = tuple(np.linspace(low, high, intervals + 1).tolist())
        return cls(tuple(Axis(name, edges) for name in attributes))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.intervals for axis in self.axes)

    def __len__(self) -> int:
        return prod(self.shape)

    def of_points(self, points: Float64s) -> Int32s:
        """The sub-channel of each row of attributes; -1 for one outside the space."""
        found = np.zeros(len(points), np.int64)
        inside = np.ones(len(points), np.bool_)
        for number, axis in enumerate(self.axes):
            interval = axis.intervals_of(points[:, number])
            inside &= interval >= 0
            found = found * axis.intervals + interval
        return np.where(inside, found, -1).astype(np.int32)

    def touched(self, low: Float64s, high: Float64s) -> Int32s:
        """The sub-channels that a box has a point in, ascending.

        Raises InputError for a box that is not within the space, or is upside down.
        """
        found = np.zeros(1, np.int64)
        for axis, least, most in zip(self.axes, low, high, strict=True):
            ends = axis.intervals_of(np.array([least, most], np.float64))
            if least > most or ends.min() < 0:
                raise InputError(
                    f"range of {axis.attribute!r}: found {least:g} to {most:g}, "
                    f"expected within {axis.edges[0]:g} to {axis.edges[-1]:g}"
                )
            along = np.arange(ends[0], ends[1] + 1)
            found = (found[:, None] * axis.intervals + along).ravel()
        return found.astype(np.int32)
