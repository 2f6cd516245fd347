"""How full brokers are, and which topics are delivered: plain data."""

from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.plan import Plan
from brokerwise.report.loads import loads_of

_GROUPS = 12
_WIDE = 32  # times the least value


def fill_details(plan: Plan, rates: Int64s, followers: Int64s) -> dict[str, Any]:
    """What a report shows of a plan of kind fill; O(brokers, topics and runs, and
    sorting them)."""
    runs = plan.placement
    served = np.bincount(runs.topic, runs.pairs, len(rates)).astype(np.int64)
    wanted, delivered = rates * followers, rates * served
    return {
        "loads": loads_of(plan),
        "by_rate": _grouped(rates, wanted, delivered),
        "by_followers": _grouped(followers, wanted, delivered),
        "topics": {
            "wanted": int(np.count_nonzero(followers)),
            "whole": int(np.count_nonzero((served > 0) & (served == followers))),
            "part": int(np.count_nonzero((served > 0) & (served < followers))),
            "cut": int(np.count_nonzero(np.bincount(runs.topic) > 1)),
        },
    }


def _grouped(key: Int64s, wanted: Int64s, delivered: Int64s) -> dict[str, Any]:
    """Data of the topics by `key`, in groups; only where data is wanted."""
    some = wanted > 0
    key, wanted, delivered = key[some], wanted[some], delivered[some]
    lows, highs, group = _groups(key)
    sums = np.zeros((3, len(lows)), np.int64)
    for row, values in enumerate((np.ones_like(wanted), wanted, delivered)):
        np.add.at(sums[row], group, values)
    return {
        "low": lows.tolist(),
        "high": highs.tolist(),
        "topics": sums[0].tolist(),
        "wanted": sums[1].tolist(),
        "delivered": sums[2].tolist(),
    }


def _groups(key: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """First and last value of groups of keys above zero, and the group of each key.

    Few values stand for themselves. More are put into groups of equal width, or from
    a power of two to the next where they differ widely.
    """
    if len(np.unique(key)) <= _GROUPS:
        lows, group = np.unique(key, return_inverse=True)
        return lows, lows, group
    least, most = int(key.min()), int(key.max())
    if most > _WIDE * least:
        # Exact below 2^53: x = m * 2^e with m from 1/2 to below 1.
        low = np.int64(1) << (np.frexp(key.astype(np.float64))[1] - 1)
        lows, group = np.unique(low, return_inverse=True)
        return lows, 2 * lows - 1, group
    width = -(-(most - least + 1) // _GROUPS)
    lows, group = np.unique(key - (key - least) % width, return_inverse=True)
    return lows, lows + width - 1, group
