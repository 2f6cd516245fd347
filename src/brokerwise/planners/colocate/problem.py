"""What a co-location planner is asked about."""

from dataclasses import dataclass
from itertools import pairwise

from brokerwise.model.errors import InputError
from brokerwise.model.latency import Predictor
from brokerwise.model.topic_table import TopicTable
from brokerwise.model.units import checked_count

DEFAULT_MARGIN = 0.1
"""Share of its target that a topic is predicted to stay below it, unless told."""


@dataclass(frozen=True)
class Seen:
    """Topics that were seen on one broker together, ascending, and the rate that each
    had there."""

    topics: tuple[int, ...]
    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.topics))
        if not rising or len(self.topics) != len(self.rates) or not self.topics:
            raise InputError(
                f"observed topics: found {self.topics} at rates {self.rates}, "
                "expected each topic once, ascending, with its rate"
            )


@dataclass(frozen=True, eq=False)
class Problem:
    """Topics to be put on as few equal brokers as possible, at most `k` on each.

    A predictor may have an attribute `monotone`. True promises that no prediction
    falls when a topic is added to a set, or when one of its topics takes longer or
    comes more often.

    Attributes
    ----------
    margin
        Predictions must stay below the target by this share of it.
    missed, met
        Sets that were seen to miss a target of theirs, and to meet all. What holds
        one that was missed is never used; what was met is, whatever the model says.
    """

    topics: TopicTable
    predictor: Predictor
    k: int
    margin: float = DEFAULT_MARGIN
    missed: tuple[Seen, ...] = ()
    met: tuple[Seen, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count(self.k, "k", least=1))
        if not 0 <= self.margin < 1:
            raise InputError(
                f"margin: found {self.margin:g}, expected from 0 to below 1"
            )
        most = self.predictor.most_topics
        if self.k > most:
            raise InputError(
                f"k: found {self.k:,}, but the model knows at most {most:,} topics "
                "on a broker",
                hint=f"Plan with a k of at most {most:,}, or train a model on data "
                f"with {self.k:,} topics on a broker.",
            )
        for seen in (*self.missed, *self.met):
            if not 0 <= seen.topics[0] <= seen.topics[-1] < len(self.topics):
                raise InputError(
                    f"observed topics: found {seen.topics}, expected numbers from 0 "
                    f"to {len(self.topics) - 1:,}"
                )
