"""Which topics each subscriber gets, and what every choice must deliver at least.

The kernels see a block of subscribers at a time: `lists[offsets[i]:offsets[i+1]]`
are the topics that subscriber `first + i` wants, ascending, and `needs[i]` is its
threshold. What it must get is that, or all it wants if that is less. Nothing depends
on how subscribers are cut into blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brokerwise.kernels.blocks import Block, Carried, Chosen, steps_of
from brokerwise.kernels.covering import Scales
from brokerwise.kernels.exact import (
    EXAMPLE,
    MODEST,
    NEEDED_RATE,
    OUTGOING,
    PAPER,
    TOTALS,
    UNREACHABLE,
    Desk,
    exact_block,
    survey_lists,
)
from brokerwise.kernels.greedy import greedy_block, random_block
from brokerwise.kernels.priced import priced_block
from brokerwise.model.arrays import Float64s, Int32s, Int64s, read_only

SELECTIONS = ("random", "greedy", "exact", "priced")

SHARED, FORCED, CROWDED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Topics:
    """The rates of all topics, and which of them can be carried: ids from `low` to
    before `high`. Those before are too large for any broker, those after are silent.
    """

    rates: Int64s
    low: int
    high: int

    @cached_property
    def steps(self) -> Int32s:
        """The first topic whose rate is at most 0, 1, 2, ..., up to a limit."""
        return steps_of(self.rates)


@dataclass(frozen=True, eq=False)
class Rule:
    """How a subscriber's topics are chosen.

    `priced` wants `prices`: what a pair of each topic is taken to cost, at least its
    rate.
    """

    name: str
    seed: int = 0
    prices: Float64s | None = None

    def __post_init__(self) -> None:
        if self.name not in SELECTIONS:
            raise ValueError(f"selection {self.name!r}: expected one of {SELECTIONS}")
        if (self.name == "priced") != (self.prices is not None):
            raise ValueError("prices: given for `priced`, and for it alone")


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
        Subscribers that want less than their threshold, but something: they get
        everything.
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

    def add(self, other: "Survey") -> None:
        """Add a survey of other subscribers; the order of additions is all one."""
        self.followers += other.followers
        self.counts += other.counts
        self.forced += other.forced
        self.outgoing += other.outgoing
        self.paper += other.paper
        self.modest += other.modest
        self.unreachable += other.unreachable
        examples = [e for e in (self.example, other.example) if e >= 0]
        self.example = min(examples, default=-1)
        self.needed_rate = max(self.needed_rate, other.needed_rate)


@dataclass(frozen=True, eq=False)
class Weights:
    """How a topic's incoming traffic is charged to those who get it.

    A pair is charged `unit * share` of a shared topic; `unit` of a forced one if it
    is among those that force it, else nothing; `unit` of a crowded one. A round of
    ascent sets shares that are raised and those that are lowered 2^`bits` apart.
    """

    unit: Float64s
    kind: Int32s  # SHARED, FORCED or CROWDED of each topic
    bits: float


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

    Returns offsets (from 0) and topics of what each gets; adds it to `counts`. A
    subscriber whose need cannot be met gets all that can be carried. One pass; room
    for the block's lists and for the longest of them.
    """
    pairs = int(offsets[-1] - offsets[0])
    ends = np.zeros(len(needs) + 1, np.int64)
    # Twice: `priced` compares two selections of a subscriber there.
    chosen = Chosen(counts, ends, np.empty(2 * pairs, np.int32))
    block, carried = block_of(offsets, lists, needs), carried_of(topics)
    if rule.name == "random":
        random_block(np.uint64(rule.seed % 2**64), first, block, carried, chosen)
    elif rule.name == "greedy":
        greedy_block(block, carried, chosen)
    elif rule.prices is None:
        exact_block(block, carried, Desk.for_lists(offsets), chosen)
    else:
        desk, scales = Desk.for_lists(offsets), Scales.for_lists(offsets)
        prices = read_only(rule.prices)
        priced_block(block, carried, prices, desk, scales, chosen)
    return ends, chosen.topics[: ends[-1]].copy()


def survey_block(
    topics: Topics,
    first: int,
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    survey: Survey,
) -> None:
    """Add a block of subscribers to a survey."""
    desk = Desk.for_lists(offsets)
    totals = np.zeros(TOTALS, np.int64)
    totals[EXAMPLE] = survey.example
    survey_lists(
        first,
        block_of(offsets, lists, needs),
        carried_of(topics),
        desk,
        np.empty(len(desk.rates), np.int32),
        survey.followers,
        survey.counts,
        survey.forced,
        totals,
    )
    survey.outgoing += int(totals[OUTGOING])
    survey.paper += int(totals[PAPER])
    survey.modest += int(totals[MODEST])
    survey.unreachable += int(totals[UNREACHABLE])
    survey.example = int(totals[EXAMPLE])
    survey.needed_rate = max(survey.needed_rate, int(totals[NEEDED_RATE]))


def merged_surveys(surveys: Sequence[Survey]) -> Survey:
    """The survey of all their subscribers; at least one must be given."""
    merged = Survey.empty(len(surveys[0].followers))
    for survey in surveys:
        merged.add(survey)
    return merged


def block_of(offsets: Int64s, lists: Int32s, needs: Int64s) -> Block:
    """Read-only, as workloads are: kernels are compiled for one kind of array."""
    return Block(read_only(offsets), read_only(lists), read_only(needs))


def carried_of(topics: Topics) -> Carried:
    rates, steps = read_only(topics.rates), read_only(topics.steps)
    return Carried(rates, steps, topics.low, topics.high)
