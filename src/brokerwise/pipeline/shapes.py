"""The shapes of published traces, as distributions to draw from.

Setty, Vitenberg, Kreitz, Urdaneta, van Steen (2014), "Cost-effective resource
allocation for deploying pub/sub on cloud", University of Oslo, research report 436.
Twitter's facts are in appendix D. Neither trace can be had any more.

Twitter, ten days: 8 million active users are the topics, 30 million subscribers,
683.5 million pairs, 455 million events. 66 topics have over a million followers,
about 4000 over ten thousand. Subscribers pile up at 20 followings (the default of
those days) and at 2000 (the limit); about 550 follow more than 10,000. About half of
the topics have fewer than 10 events, 46,000 more than 1000, one more than 100,000.
The mean rate grows with followers up to 100,000 and is lower beyond. About 3 million
subscribers receive more than 7000 events, one 18 million.

Spotify: 1.1 million topics, 4.9 million subscribers, 12 million pairs; nothing else
is published. We take Twitter's curves relative to the mean number of followers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from brokerwise.kernels.sampling import Bins
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError

SMALLEST_SCALE = 0.00001  # under it there are too few topics for the lists
LARGEST_SCALE = 10.0
_HALVINGS = 100
# Multiples of these, modulo one, fill the unit interval most evenly.
GOLDEN = (math.sqrt(5) - 1) / 2
SILVER = math.sqrt(2) - 1
DEFAULT = 20
LIMIT = 2000
MOST = 185_000  # whoever follows so many receives about 18 million events
# Followers of the topic at a rank, at Twitter's size. The second and third point are
# published; the most popular topics there had a few million.
_RANKS = np.array([1.0, 66.0, 4000.0])
_FOLLOWERS = np.array([3e6, 1e6, 1e4])
# Nobody is followed by more than this share; it matters at small scales only.
_LARGEST_AUDIENCE = 0.5
_BIN_GROWTH = 1.01
_ROUNDS = 30
_CLOSE = 1e-6
_NORMAL = NormalDist()
_MEDIAN = np.log(10)
# Lifts the middle of the upper half so that the total is 455 million.
_LIFT = 0.1097
# A topic's place in the order of rates: rising with followers up to 100,000 (of
# Twitter's), falling beyond, and luck. The rise is the one with which 3 million
# subscribers receive more than 7000 events.
_PEAK = 1e5
_RISE = 0.27
_FALL = 1.0
_LUCK = 1.83
# Topics with a large share of all subscribers vary less, about the same mean: else
# one busy celebrity decides what a tenth of the subscribers receive.
_STEADIER = 20.0
BLOCK = 65_536
_SHIFTS, _PAIRS = 0, 1  # what a stream of random numbers is for


@dataclass(frozen=True)
class Shape:
    """A trace at scale 1, and how its followings are spread.

    The share of subscribers with more than k followings falls like k ** -decay.
    `at_default` of all follow exactly 20; `at_limit` of those who would follow more
    than 2000 stop there.
    """

    name: str
    topics: int
    subscribers: int
    pairs: int
    decay: float
    at_default: float = 0.0
    at_limit: float = 0.0

    @property
    def followings(self) -> float:
        """Topics per subscriber, on average."""
        return self.pairs / self.subscribers

    @property
    def followers(self) -> float:
        """Subscribers per topic, on average."""
        return self.pairs / self.topics


# With this decay 550 subscribers follow more than 10,000 topics.
TWITTER = Shape(
    name="twitter",
    topics=8_000_000,
    subscribers=30_000_000,
    pairs=683_500_000,
    decay=1.51,
    at_default=0.03,
    at_limit=0.5,
)
# With this one 6 in 10 follow one topic and 2 in 10 follow two.
SPOTIFY = Shape(
    name="spotify",
    topics=1_100_000,
    subscribers=4_900_000,
    pairs=12_000_000,
    decay=2.0,
)
SHAPES = {shape.name: shape for shape in (SPOTIFY, TWITTER)}


@dataclass(frozen=True)
class Size:
    """A shape at a scale, which multiplies topics, subscribers and pairs."""

    shape: Shape
    scale: float

    def __post_init__(self) -> None:
        if not SMALLEST_SCALE <= self.scale <= LARGEST_SCALE:
            least = Size(self.shape, SMALLEST_SCALE)
            raise InputError(
                f"--scale: found {self.scale:g}, expected a number from "
                f"{SMALLEST_SCALE:.5f} to {LARGEST_SCALE:g}; nothing was written",
                details=[
                    f"scale 1 is {self.shape.topics:,} topics and "
                    f"{self.shape.subscribers:,} subscribers",
                    f"scale {SMALLEST_SCALE:.5f} is {least.topics:,} topics and "
                    f"{least.subscribers:,} subscribers",
                ],
            )

    @property
    def topics(self) -> int:
        return round(self.shape.topics * self.scale)

    @property
    def subscribers(self) -> int:
        return round(self.shape.subscribers * self.scale)

    @property
    def pairs(self) -> float:
        """As many as are expected; what is drawn differs a little."""
        return self.shape.followings * self.subscribers


def crossing(curve: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising curve crosses zero between `low` and `high`."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if curve(middle) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


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


def followings_cdf(size: Size) -> Float64s:
    """The share of subscribers that follow at most 1, 2, ... topics; ends with 1.

    The mean is the shape's at every scale: where there are too few topics for the
    longest lists, the others grow. Every subscriber follows at least one.
    """
    most = min(MOST, size.topics)

    def excess(log_bend: float) -> float:
        return float(_more_than(size, most, math.exp(log_bend)).sum()) - mean

    mean = size.shape.followings
    bend = math.exp(crossing(excess, math.log(1e-3), math.log(1e9)))
    return 1 - _more_than(size, most, bend)[1:]


def followings(cdf: Float64s, quantiles: Float64s) -> Int64s:
    """The followings of subscribers at these quantiles, each in [0, 1)."""
    return np.minimum(np.searchsorted(cdf, quantiles, side="right") + 1, len(cdf))


def _more_than(size: Size, most: int, bend: float) -> Float64s:
    """The share that follows more than 0, 1, ..., `most` topics.

    A power law that is flat up to about `bend`, cut at `most`, with the two bumps.
    """
    shape = size.shape
    count = np.arange(most + 1)
    share = (1 + count / bend) ** -shape.decay
    share = (share - share[-1]) / (1 - share[-1])
    share[LIMIT:] *= 1 - shape.at_limit
    by_default = np.where(count < DEFAULT, shape.at_default, 0.0)
    return np.asarray((1 - shape.at_default) * share + by_default)


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


_BUSY, _BUSY_AT = np.log(1001), -_NORMAL.inv_cdf(46_000 / TWITTER.topics)
_TOP, _TOP_AT = np.log(100_001), -_NORMAL.inv_cdf(1 / TWITTER.topics)
_KNOTS = np.linspace(-8.0, 8.0, 6401)


def rates_by_rank(size: Size, followers: Float64s, luck: Float64s) -> Int64s:
    """The rate of each topic, from its followers and its luck in (0, 1).

    Sorted, the rates are always the same for a number of topics: the published
    distribution at evenly spaced quantiles. Followers and luck only decide which
    topic has which. O(topics) memory, one sort.
    """
    ladder = rate_ladder(len(followers))
    rates = np.empty_like(ladder)
    rates[np.argsort(-_score(size, followers, luck), kind="stable")] = ladder
    return rates


def rate_ladder(topics: int) -> Int64s:
    """So many rates, falling: about lognormal, each at least 1."""
    above = np.array([_NORMAL.cdf(-knot) for knot in _KNOTS])
    share = (np.arange(topics) + 0.5) / topics
    logs = np.interp(share, above[::-1], _log_rate(_KNOTS)[::-1])
    return np.maximum(np.exp(logs), 1).astype(np.int64)


def _log_rate(deviations: Float64s) -> Float64s:
    """The logarithm of the rate so many standard deviations above the median."""
    slope = (_BUSY - _MEDIAN) / _BUSY_AT
    top_slope = (_TOP - _BUSY) / (_TOP_AT - _BUSY_AT)
    lower = np.clip(deviations, 0, _BUSY_AT)
    lift = _LIFT * lower * (_BUSY_AT - lower)
    beyond = np.maximum(deviations - _BUSY_AT, 0)
    return np.asarray(
        _MEDIAN + slope * (deviations - beyond) + lift + top_slope * beyond
    )


def _score(size: Size, followers: Float64s, luck: Float64s) -> Float64s:
    peak = _PEAK * size.shape.followers / TWITTER.followers
    distance = np.log(followers / peak)
    trend = np.where(distance < 0, _RISE * distance, -_FALL * distance)
    spread = _LUCK / (1 + _STEADIER * followers / size.subscribers)
    same_mean = (_LUCK**2 - spread**2) / 2  # of a lognormal
    below = np.array([_NORMAL.cdf(knot) for knot in _KNOTS])
    deviations = np.interp(luck, below, _KNOTS)
    return np.asarray(trend + same_mean + spread * deviations)


@dataclass(frozen=True, eq=False)
class Recipe:
    """Makes any block of a trace, alone, anywhere, always the same.

    A block is 65,536 subscribers and has its own stream of random numbers. Weighs
    about a megabyte at any scale.
    """

    size: Size
    seed: int
    cdf: Float64s
    bins: Bins
    numbering: Scatter
    strata: Scatter

    @property
    def blocks(self) -> int:
        return -(-self.size.subscribers // BLOCK)

    def block(self, number: int) -> tuple[Int64s, Int64s]:
        """The topic and the subscriber of each pair of a block.

        Grouped by subscriber; its topics are in the order drawn.
        """
        first = number * BLOCK
        subscribers = np.arange(first, min(first + BLOCK, self.size.subscribers))
        random = _random(self.seed, _PAIRS, number)
        quantiles = self.strata(subscribers) + random.random(len(subscribers))
        counts = followings(self.cdf, quantiles / self.size.subscribers)
        ranks = self.bins.draw(counts, int(random.integers(2**63)))
        topics = self.numbering(ranks.astype(np.int64))
        return topics, np.repeat(subscribers, counts)


def make_recipe(size: Size, seed: int) -> tuple[Recipe, Int64s]:
    """The recipe for the pairs, and the rates by topic number.

    Followings are drawn one from each of as many equal strata as there are
    subscribers, so that their distribution hardly depends on the seed.
    """
    wanted = popularity(size)
    cdf = followings_cdf(size)
    shifts = _random(seed, _SHIFTS).integers(2**31, size=3).tolist()
    numbering = Scatter.of(size.topics, GOLDEN, shifts[0])
    recipe = Recipe(
        size,
        seed,
        cdf,
        drawing_bins(size, wanted, cdf),
        numbering,
        Scatter.of(size.subscribers, GOLDEN, shifts[1]),
    )
    ranks = np.arange(size.topics)
    luck = (Scatter.of(size.topics, SILVER, shifts[2])(ranks) + 0.5) / size.topics
    rates = np.empty(size.topics, np.int64)
    rates[numbering(ranks)] = rates_by_rank(size, wanted.by_rank(), luck)
    return recipe, rates


def _random(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
