"""What the users of a generated network publish and want, drawn at random."""

from collections.abc import Iterator
from math import sqrt

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.network import Published, Wanted

MEAN_RATE = 10
"""Messages a period in each interval of one dimension, on average."""

_SAMPLES = 24  # places at least, along each dimension, at which a density is taken
_VALUES_PER_BLOCK = 4_000_000
# Of the positive part of a quadratic in one dimension with coefficients from -1 to 1;
# the sum of several is as wide as the root of their number.
_MEAN_DENSITY = 0.285


def draw_published(
    random: np.random.Generator, users: int, intervals: int, dimensions: int
) -> Published:
    """Rates after a random quadratic of each user, its negative part cut to 0.

    In several dimensions a quadratic in each coordinate is drawn, and they are added.
    A user publishes MEAN_RATE * intervals messages on average, whatever the number of
    dimensions; one whose density is 0 everywhere publishes nothing. Fractions of a
    message are carried to the next sub-channel, so a user's total is off by less
    than one.
    """
    coefficients = random.uniform(-1, 1, (users, dimensions, 3))
    carried = random.random(users)
    counts, subchannels, rates = [], [], []
    scale = _scale(intervals, dimensions)
    for first, density in _densities(coefficients, intervals):
        expected = np.cumsum(density, axis=1)
        expected *= scale
        expected += carried[first : first + len(density), None]
        rate = np.diff(np.floor(expected).astype(np.int64), axis=1, prepend=0)
        user, subchannel = np.nonzero(rate)
        counts.append(np.bincount(user, minlength=len(density)))
        subchannels.append(subchannel.astype(np.int32))
        rates.append(rate[user, subchannel])
    return Published(
        offsets_of(np.concatenate(counts)),
        np.concatenate(subchannels),
        np.concatenate(rates),
    )


def _scale(intervals: int, dimensions: int) -> float:
    """From a density's value in a sub-channel to messages."""
    share = float(intervals) ** (1 - dimensions)
    return MEAN_RATE * share / (_MEAN_DENSITY * sqrt(dimensions))


def _densities(
    coefficients: Float64s, intervals: int
) -> Iterator[tuple[int, Float64s]]:
    """Some users at a time: the first, and the mean density in each sub-channel."""
    users, dimensions, _ = coefficients.shape
    finer = -(-_SAMPLES // intervals)
    places = (np.arange(intervals * finer) + 0.5) / (intervals * finer)
    powers = np.stack([places * places, places, np.ones_like(places)])
    each = max(1, _VALUES_PER_BLOCK // len(places) ** dimensions)
    for first in range(0, users, each):
        part = coefficients[first : first + each] @ powers
        yield first, _cell_means(part, finer)


def _cell_means(part: Float64s, finer: int) -> Float64s:
    """(users, dimensions, places) to (users, sub-channels), the last dimension
    running fastest."""
    users, dimensions, places = part.shape
    density = part[:, 0].reshape(users, places, *[1] * (dimensions - 1))
    for dimension in range(1, dimensions):
        shape = [1] * dimensions
        shape[dimension] = places
        density = density + part[:, dimension].reshape(users, *shape)
    density = np.maximum(density, 0)
    if finer > 1:
        split = [n for _ in range(dimensions) for n in (places // finer, finer)]
        within = tuple(2 * dimension + 2 for dimension in range(dimensions))
        density = density.reshape(users, *split).mean(axis=within)
    return density.reshape(users, -1)


def draw_wanted(
    random: np.random.Generator,
    users: int,
    intervals: int,
    dimensions: int,
    width: float,
) -> Wanted:
    """A random interval of each user in each dimension: both ends uniform, or, with a
    width below 1, a length uniform up to it and a uniform place."""
    ends = random.random((2, users, dimensions))
    if width < 1:
        length = ends[0] * width
        low = ends[1] * (1 - length)
        high = low + length
    else:
        low, high = ends.min(axis=0), ends.max(axis=0)
    last = intervals - 1
    first = np.minimum((low * intervals).astype(np.int64), last)
    past = np.minimum((high * intervals).astype(np.int64), last) + 1
    return boxes(first, past, intervals)


def boxes(first: Int64s, past: Int64s, intervals: int) -> Wanted:
    """The sub-channels of a box for each user: from `first` to before `past` in each
    dimension (column), every dimension cut into as many intervals."""
    sides = past - first
    offsets = offsets_of(sides.prod(axis=1))
    user = np.repeat(np.arange(len(sides)), np.diff(offsets))
    within = np.arange(offsets[-1]) - offsets[user]
    found = np.zeros(len(user), np.int64)
    stride = 1
    for dimension in reversed(range(sides.shape[1])):
        within, along = np.divmod(within, sides[user, dimension])
        found += (first[user, dimension] + along) * stride
        stride *= intervals
    subchannels: Int32s = found.astype(np.int32)
    return Wanted(offsets, subchannels)


def offsets_of(counts: Int64s) -> Int64s:
    """Where the lists of so many entries start, and the end of the last."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
