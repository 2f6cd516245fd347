"""The simulation of Nguyen et al. (DEBS 2019), section 6.2, at any size.

All subscribers log in at the start and subscribe in the first minutes; rates of topics
rise and fall all the time. What the paper leaves open is chosen here:

- A topic brings 20 kB/s on average, with a standard deviation of 5 kB/s, so that ten
  brokers with 10,000 subscribers carry about 420 MB/s each while nothing rises: the
  paper's threshold of 300 MB/s is passed when most have subscribed.
- Each minute a quarter of the topics is drawn. Those that are at rest begin to rise at
  once, within three minutes, to 1.5 to 3 times their rate; four to six minutes after
  they began they fall as slowly. Then they can be drawn again.
- Subscribers live around the brokers, in numbers that fall like 1 / rank^0.8: of
  10,000 about 2,800 around the first of ten brokers, and fewer than 500 around the
  last. How often a channel runs makes no difference to rates that are averages.
"""

from dataclasses import dataclass
from math import ceil, inf, isfinite

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count
from brokerwise.runtime.simulation.world import Subscriptions, Visits, World

MOST_BROKERS = 100_000
MOST_SUBSCRIBERS = 10_000_000
_SPREAD = 0.2  # of subscribers around their broker; brokers are 1 apart
_SKEW = 0.8


@dataclass(frozen=True)
class Paper:
    """The paper's parameters. `subscriptions` is the least and the most topics of one
    subscriber; `rate` is a mean and a standard deviation in bytes a second."""

    brokers: int = 10
    subscribers: int = 10_000
    topics: int = 1_000
    seconds: float = 1_800.0
    subscriptions: tuple[int, int] = (10, 30)
    rate: tuple[float, float] = (20_000.0, 5_000.0)
    drawn: float = 0.25
    rise_seconds: float = 180.0
    fall_after_seconds: tuple[float, float] = (240.0, 360.0)
    rises_to: tuple[float, float] = (1.5, 3.0)

    def __post_init__(self) -> None:
        for field, most in (
            ("brokers", MOST_BROKERS),
            ("subscribers", MOST_SUBSCRIBERS),
            ("topics", MOST_SUBSCRIBERS),
        ):
            if checked_count(getattr(self, field), field, least=1) > most:
                raise InputError(
                    f"{field}: found {getattr(self, field):,}, expected at most "
                    f"{most:,}"
                )
        if not (isfinite(self.seconds) and self.seconds > 0):
            raise InputError(f"seconds: found {self.seconds!r}, expected more than 0")

    @property
    def subscribe_seconds(self) -> float:
        """8 of 30 minutes, and as large a part of a shorter run."""
        return min(480.0, self.seconds * 480 / 1_800)


def paper_world(paper: Paper, seed: int) -> World:
    """The same world for the same seed. Subscribers, subscriptions and rates are drawn
    apart: a longer run, or one with other brokers, has the same subscriptions."""
    people, wanting, rising = (
        np.random.default_rng([seed, stream]) for stream in range(3)
    )
    brokers = _broker_points(paper.brokers)
    users = np.arange(paper.subscribers, dtype=np.int32)
    return World(
        "the simulation of Nguyen et al.",
        paper.seconds,
        brokers,
        _user_points(paper, brokers, people),
        paper.topics,
        Visits(users, np.zeros(len(users)), np.full(len(users), inf)),
        _subscriptions(paper, wanting),
        RisingRates.drawn(paper, rising),
    )


def _broker_points(count: int) -> Float64s:
    across = ceil(count**0.5)
    row, column = np.divmod(np.arange(count), across)
    return np.stack((column, row), axis=1).astype(np.float64)


def _user_points(paper: Paper, brokers: Float64s, rng: np.random.Generator) -> Float64s:
    shares = 1 / np.arange(1, len(brokers) + 1) ** _SKEW
    homes = rng.choice(len(brokers), paper.subscribers, p=shares / shares.sum())
    found: Float64s = brokers[homes] + rng.normal(0, _SPREAD, (len(homes), 2))
    return found


def _subscriptions(paper: Paper, rng: np.random.Generator) -> Subscriptions:
    least, most = (min(each, paper.topics) for each in paper.subscriptions)
    counts = rng.integers(least, most + 1, paper.subscribers)
    user = np.repeat(np.arange(paper.subscribers, dtype=np.int64), counts)
    topic = different_topics(user, paper.topics, rng)
    begin = rng.uniform(0, paper.subscribe_seconds, len(user))
    return Subscriptions(user.astype(np.int32), topic, begin, np.full(len(user), inf))


def different_topics(user: Int64s, topics: int, rng: np.random.Generator) -> Int32s:
    """A topic for each entry, all sets of a user equally likely: what a user has
    already is drawn again."""
    topic = rng.integers(0, topics, len(user))
    while True:
        _, kept = np.unique(user * topics + topic, return_index=True)
        again = np.ones(len(user), np.bool_)
        again[kept] = False
        if not again.any():
            return topic.astype(np.int32)
        topic[again] = rng.integers(0, topics, int(again.sum()))


@dataclass(frozen=True, eq=False)
class RisingRates:
    """Rates that rise and fall: surge i of a topic begins at `begin[i]`, is at
    `factor[i]` times the `base` rate `slope` seconds later, and falls from `turn[i]`
    on. Those of one topic do not overlap."""

    base: Float64s
    topic: Int32s
    begin: Float64s
    turn: Float64s
    factor: Float64s
    slope: float

    @classmethod
    def drawn(cls, paper: Paper, rng: np.random.Generator) -> "RisingRates":
        base = np.maximum(rng.normal(*paper.rate, paper.topics), 1.0)
        rests_from = np.zeros(paper.topics)
        each = round(paper.drawn * paper.topics)
        found = []
        for minute in range(ceil(paper.seconds / 60)):
            begin = 60.0 * minute
            topic = np.sort(rng.choice(paper.topics, each, replace=False))
            turn = begin + rng.uniform(*paper.fall_after_seconds, each)
            factor = rng.uniform(*paper.rises_to, each)
            rests = rests_from[topic] <= begin
            rests_from[topic[rests]] = turn[rests] + paper.rise_seconds
            found.append((topic[rests], turn[rests], factor[rests], begin))
        return cls(
            base,
            np.concatenate([f[0] for f in found]).astype(np.int32),
            np.concatenate([np.full(len(f[0]), f[3]) for f in found]),
            np.concatenate([f[1] for f in found]),
            np.concatenate([f[2] for f in found]),
            paper.rise_seconds,
        )

    def __call__(self, time: float) -> Int64s:
        up = np.clip((time - self.begin) / self.slope, 0, 1)
        down = np.clip((time - self.turn) / self.slope, 0, 1)
        rates = self.base.copy()
        np.add.at(
            rates, self.topic, self.base[self.topic] * (self.factor - 1) * (up - down)
        )
        whole: Int64s = np.rint(rates).astype(np.int64)
        return whole
