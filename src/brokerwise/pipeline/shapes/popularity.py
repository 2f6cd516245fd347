"""Which topics are followed how much."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.sampling import Bins
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.pipeline.shapes.published import TWITTER, Size
from brokerwise.pipeline.shapes.solving import crossing

# Followers of the topic at a rank, at Twitter's size. The second and third point are
# published; the most popular topics there had a few million.
_RANKS = np.array([1.0, 66.0, 4000.0])
_FOLLOWERS = np.array([3e6, 1e6, 1e4])

# Nobody is followed by more than this share; it matters at small scales only.
_LARGEST_AUDIENCE = 0.5

_BIN_GROWTH = 1.01
_ROUNDS = 30
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class Popularity:
    """Topics by rank, most popular first, in bins of nearly equal popularity.

    `followers[b]` is the expected number for each topic of bin b.
    """

    starts: Int64s
    followers: Float64s

    @property
    def widths(self) -> Int64s:
        return np.diff(self.starts)

    def by_rank(self) -> Float64s:
        """The expected followers of every topic."""
        return np.repeat(self.followers, self.widths)


def popularity(size: Size) -> Popularity:
    """Straight lines on log-log paper through the published points.

    The last line, to the least popular topic, has the slope that gives the right
    number of pairs.
    """
    starts = _bins(size.topics)
    widths, middles = np.diff(starts), (starts[:-1] + starts[1:]) / 2

    def missing(slope: float) -> float:
        return size.pairs - float(widths @ _followers(size, middles, slope))

    slope = crossing(missing, -5.0, 5.0)
    return Popularity(starts, _followers(size, middles, slope))


def drawing_bins(size: Size, wanted: Popularity, cdf: Float64s) -> Bins:
    """Weights for draws without repeats that give topics the followers wanted.

    Who follows thousands takes the popular topics almost surely, but only once: with
    weights proportional to followers these would fall short. Drawing without repeats
    is a race of exponential clocks, so a subscriber with d followings has a topic of
    weight w with probability 1 - exp(-w t), where t is when d clocks have rung. That
    gives t for each d, then w for each topic, in turn, until they agree.
    """
    counts, shares = _grouped(cdf)
    weights = wanted.followers / size.pairs
    for _ in range(_ROUNDS):
        times = _times(weights, wanted.widths, counts)
        before, weights = weights, _weights(size, wanted, times, shares)
        if np.abs(weights / before - 1).max() < _CLOSE:
            break
    return Bins.of(wanted.starts, weights)


def _followers(size: Size, ranks: Float64s, slope: float) -> Float64s:
    ranks = np.log(ranks * (TWITTER.topics / size.topics))
    line = np.interp(ranks, np.log(_RANKS), np.log(_FOLLOWERS))
    line -= slope * np.maximum(ranks - np.log(_RANKS[-1]), 0)
    followers = np.exp(line) * (size.shape.followers / TWITTER.followers)
    most = _LARGEST_AUDIENCE * size.subscribers
    return np.asarray(followers / np.sqrt(1 + (followers / most) ** 2))


def _bins(topics: int) -> Int64s:
    """The first ranks alone, then bins that grow by one in a hundred."""
    starts = [0]
    while starts[-1] < topics:
        following = max(starts[-1] + 1, int(starts[-1] * _BIN_GROWTH))
        starts.append(min(topics, following))
    return np.array(starts)


def _grouped(cdf: Float64s) -> tuple[Float64s, Float64s]:
    """A few hundred groups of subscribers: their mean followings, and their shares."""
    most = len(cdf)
    starts = np.unique(np.geomspace(1, most + 1, 400).astype(np.int64)) - 1
    starts = starts[starts < most]
    one_by_one = np.diff(cdf, prepend=0.0)
    shares = np.add.reduceat(one_by_one, starts)
    sums = np.add.reduceat(one_by_one * np.arange(1, most + 1), starts)
    some = shares > 0
    return sums[some] / shares[some], shares[some]


def _times(weights: Float64s, widths: Int64s, counts: Float64s) -> Float64s:
    """When so many of the topics' clocks have rung."""
    times = np.geomspace(1e-1, 1e3 / weights.min(), 800)
    rung = -np.expm1(-np.outer(times, weights)) @ widths
    return np.exp(np.interp(np.log(counts), np.log(rung), np.log(times)))


def _weights(
    size: Size, wanted: Popularity, times: Float64s, shares: Float64s
) -> Float64s:
    """The weights that give each topic its followers, scaled to a sum of one."""
    weights = np.geomspace(1e-3 / times.max(), 1e2 / times.min(), 3000)
    followers = size.subscribers * (-np.expm1(-np.outer(weights, times)) @ shares)
    found = np.interp(np.log(wanted.followers), np.log(followers), np.log(weights))
    result = np.exp(found)
    return np.asarray(result / (result @ wanted.widths))
