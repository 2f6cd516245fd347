"""Which topics each subscriber gets, and what every choice must cost at least."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s

SELECTIONS = ("random", "greedy", "exact", "priced")


@dataclass(frozen=True, eq=False)
class Topics:
    """The rates of all topics, and which of them can be carried: ids from `low` to
    before `high`. Those before are too large for any broker, those after are silent.
    """

    rates: Int64s
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Rule:
    """How a subscriber's topics are chosen.

    `priced` wants `prices`: what a pair of each topic is taken to cost.
    """

    name: str
    seed: int = 0
    prices: Float64s | None = None


@dataclass(eq=False)
class Survey:
    """What one look at the interests of some subscribers says; surveys add up.

    Attributes
    ----------
    followers
        Subscribers that want each topic.
    counts
        Subscribers that get it under the exact selection.
    forced
        Subscribers that cannot do without it: what else they want is not enough.
    outgoing
        Proven: no selection delivers less in total. It is what the exact selection
        delivers, but for subscribers whose sums are too many to try.
    paper
        The published bound: sum of max(need, least rate wanted).
    modest
        Subscribers that want less than their threshold: they get everything.
    unreachable
        Subscribers whose need cannot be met by topics that can be carried.
    example
        The id of the first of those, -1 if there is none.
    needed_rate
        The largest rate that would have to be carried to meet all needs; 0 if none.
    """

    followers: Int64s
    counts: Int64s
    forced: Int64s
    outgoing: int = 0
    paper: int = 0
    modest: int = 0
    unreachable: int = 0
    example: int = -1
    needed_rate: int = 0

    @classmethod
    def empty(cls, topics: int) -> "Survey":
        return cls(*np.zeros((3, topics), np.int64))


@dataclass(frozen=True, eq=False)
class Weights:
    """How a topic's incoming traffic is charged to those who get it.

    A pair is charged `unit * share` of a shared topic; `unit` of a forced one if it
    is among those that force it, else nothing; `unit` of a crowded one.
    """

    unit: Float64s
    kind: Int32s  # SHARED, FORCED or CROWDED of each topic


SHARED, FORCED, CROWDED = 0, 1, 2
EVEN_SHARE = 1 << 20


def select_block(
    rule: Rule,
    topics: Topics,
    first: int,
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    counts: Int64s,
) -> tuple[Int64s, Int32s]:
    """Choose for a block of subscribers, the first of which has id `first`.

    Returns offsets (from 0) and topics of what each gets; adds it to `counts`.
    """
    raise NotImplementedError


def survey_block(
    topics: Topics,
    first: int,
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    survey: Survey,
) -> None:
    """Add a block of subscribers to a survey."""
    raise NotImplementedError


def ascend_block(
    topics: Topics,
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    weights: Weights,
    least: Int64s,
    shares: "np.typing.NDArray[np.uint32]",
    sums: Int64s,
) -> float:
    """One round of ascent over a block; returns what its subscribers cost at least.

    `least` (what each subscriber must at least be sent) is filled in where it is -1.
    `shares` (aligned with `lists`) are raised where chosen and lowered elsewhere, in
    place, and added to `sums` by topic.
    """
    raise NotImplementedError


def merged_surveys(surveys: Sequence[Survey]) -> Survey:
    raise NotImplementedError
