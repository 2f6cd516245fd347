"""What a workload looks like."""

from dataclasses import dataclass
from typing import Any

from brokerwise.model.units import megabits_per_second


@dataclass(frozen=True)
class Ccdf:
    """P(X > x): `above[i]` members of the population are larger than `values[i]`.

    Exact at every point. Values ascend and `above` never rises.
    """

    values: tuple[int, ...]
    above: tuple[int, ...]


@dataclass(frozen=True)
class Distribution:
    """How a whole number is spread over a population; all zero if that is empty.

    A quantile is the least value that at least that share of the population does
    not exceed.
    """

    population: int
    total: int
    p50: int
    p90: int
    p99: int
    max: int
    ccdf: Ccdf

    @property
    def mean(self) -> float:
        return _ratio(self.total, self.population)

    def as_json(self) -> dict[str, Any]:
        return {
            "population": self.population,
            "total": self.total,
            "mean": self.mean,
            "p50": self.p50,
            "p90": self.p90,
            "p99": self.p99,
            "max": self.max,
            "ccdf": {
                "values": list(self.ccdf.values),
                "above": list(self.ccdf.above),
                "shares": [_ratio(n, self.population) for n in self.ccdf.above],
            },
        }


@dataclass(frozen=True)
class Means:
    """The mean of one number by another.

    `members[i]` have a value from `low[i]` to `high[i]`, and `totals[i]` of the
    other number together.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    members: tuple[int, ...]
    totals: tuple[int, ...]

    def as_json(self, factor: int = 1, divisor: int = 1) -> dict[str, Any]:
        """With the means, each times `factor / divisor`."""
        pairs = zip(self.totals, self.members, strict=True)
        return {
            "low": list(self.low),
            "high": list(self.high),
            "members": list(self.members),
            "totals": list(self.totals),
            "means": [_ratio(factor * t, divisor * n) for t, n in pairs],
        }


@dataclass(frozen=True, repr=False)
class Profile:
    """Counts, distributions and volumes of a workload, all of them whole numbers.

    Attributes
    ----------
    rate
        Over topics; its total is what is published in a period.
    received
        Over subscribers: what each would receive if all its topics were served.
        Quantiles from 2,048 on may be over the exact ones by less than 0.1 %.
    incoming
        What one broker that serves every pair receives: topics without subscribers
        are left out.
    rate_by_followers
        Rates of topics, by how many subscribers want them.
    received_by_followings
        What subscribers receive, by how many topics they want.
    """

    period_seconds: int
    message_bytes: int
    topics_without_subscribers: int
    subscribers_without_topics: int
    incoming: int
    followers: Distribution
    followings: Distribution
    rate: Distribution
    received: Distribution
    rate_by_followers: Means
    received_by_followings: Means

    @property
    def topics(self) -> int:
        return self.followers.population

    @property
    def subscribers(self) -> int:
        return self.followings.population

    @property
    def pairs(self) -> int:
        return self.followers.total

    @property
    def outgoing(self) -> int:
        """What everybody would receive: the rates of all pairs."""
        return self.received.total

    @property
    def load(self) -> int:
        """The load of one broker that serves every pair."""
        return self.incoming + self.outgoing

    def megabits_per_second(self, messages: int) -> float:
        """The bandwidth of `messages` of this workload per period."""
        return megabits_per_second(messages, self.period_seconds, self.message_bytes)

    def cardinality(self, received: int) -> float:
        """What a subscriber receives, in % of all that is published; 0 of nothing."""
        return _ratio(100 * received, self.rate.total)

    def as_json(self) -> dict[str, Any]:
        """Everything, with the shares, means and bandwidths that follow from it."""
        return {
            "topics": self.topics,
            "subscribers": self.subscribers,
            "pairs": self.pairs,
            "topics_without_subscribers": self.topics_without_subscribers,
            "subscribers_without_topics": self.subscribers_without_topics,
            "period_seconds": self.period_seconds,
            "message_bytes": self.message_bytes,
            "incoming": self.incoming,
            "outgoing": self.outgoing,
            "load": self.load,
            "published_mbit_s": self.megabits_per_second(self.rate.total),
            "outgoing_mbit_s": self.megabits_per_second(self.outgoing),
            "load_mbit_s": self.megabits_per_second(self.load),
            "followers": self.followers.as_json(),
            "followings": self.followings.as_json(),
            "rate": self.rate.as_json(),
            "received": self.received.as_json(),
            "subscription_cardinality": self._cardinalities(),
            "mean_rate_by_followers": self.rate_by_followers.as_json(),
            "mean_cardinality_by_followings": self.received_by_followings.as_json(
                100, self.rate.total
            ),
        }

    def _cardinalities(self) -> dict[str, Any]:
        received = self.received.as_json()
        ccdf = received.pop("ccdf")
        population = received.pop("population")
        mean = _ratio(100 * received.pop("total"), population * self.rate.total)
        quantiles = {
            name: self.cardinality(received[name])
            for name in ("p50", "p90", "p99", "max")
        }
        percent = [self.cardinality(value) for value in ccdf.pop("values")]
        return {
            "population": population,
            "mean": mean,
            **quantiles,
            "ccdf": {"values": percent, **ccdf},
        }

    def __repr__(self) -> str:
        return (
            f"Profile({self.topics:,} topics, {self.subscribers:,} subscribers, "
            f"{self.pairs:,} pairs, {self.rate.total:,} messages published and "
            f"{self.outgoing:,} delivered in {self.period_seconds:,} s)"
        )


def _ratio(part: int, whole: int) -> float:
    """The quotient, rounded once; nothing of nothing is 0."""
    return part / whole if whole else 0.0
