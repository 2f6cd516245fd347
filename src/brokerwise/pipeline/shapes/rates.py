"""How many events a topic has in the period."""

from statistics import NormalDist

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.pipeline.shapes.published import TWITTER, Size

_NORMAL = NormalDist()
_MEDIAN = np.log(10)
_BUSY, _BUSY_AT = np.log(1001), -_NORMAL.inv_cdf(46_000 / TWITTER.topics)
_TOP, _TOP_AT = np.log(100_001), -_NORMAL.inv_cdf(1 / TWITTER.topics)
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
