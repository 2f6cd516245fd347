"""Appendix D: what a trace looks like, beside what is published of Twitter's."""

from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.workload import Workload

TWITTER_FACTS = {
    "topics with fewer than 10 events": 4e6 / 8e6,
    "topics with more than 1,000 events": 46_000 / 8e6,
    "topics with more than 10,000 followers": 4_000 / 8e6,
    "subscribers with more than 10,000 topics": 550 / 30e6,
    "subscribers that receive more than 7,000 events": 3e6 / 30e6,
    "of all events, received by the largest subscriber": 0.04,
}
"""Shares of the trace of 8 million topics and 30 million subscribers. They have no
size; but a small trace has too few to show the rarest."""


def trace_facts(workload: Workload) -> dict[str, float]:
    """The same shares of a workload."""
    rates, received = workload.rates, _received(workload)
    followings = np.diff(workload.interests.offsets)
    shares = (
        _share(rates < 10),
        _share(rates > 1_000),
        _share(workload.followers() > 10_000),
        _share(followings > 10_000),
        _share(received > 7_000),
        int(received.max(initial=0)) / max(1, int(rates.sum())),
    )
    return dict(zip(TWITTER_FACTS, shares, strict=True))


def _share(which: Any) -> float:
    return float(np.mean(which)) if len(which) else 0.0


def _received(workload: Workload) -> Int64s:
    interests = workload.interests
    totals = np.zeros(interests.pairs + 1, np.int64)
    np.cumsum(workload.rates[interests.topics], out=totals[1:])
    received: Int64s = np.diff(totals[interests.offsets])
    return received
