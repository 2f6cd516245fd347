"""Which topics each subscriber gets, and what every choice must deliver at least.

The kernels see a block of subscribers at a time: `lists[offsets[i]:offsets[i+1]]` are
the topics that subscriber `first + i` wants, ascending, and `needs[i]` is its
threshold. What it must get is that, or all it wants if that is less. Nothing depends on
how subscribers are cut into blocks.

`priced` prefers topics which cost less per pair. A pair costs at least its rate, so
topics with a larger rate than the price of a way to meet the need are not looked at.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from brokerwise.kernels.blocks import (
    Block,
    CarriedTopics,
    SelectedPairs,
    carried_part,
    count_chosen,
    first_within,
    steps_of,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.covering import Scales, cheapest_together
from brokerwise.kernels.exact import (
    EXAMPLE,
    MODEST,
    NEEDED_RATE,
    OUTGOING,
    PAPER,
    TOTALS,
    UNREACHABLE,
    Desk,
    SurveyCounts,
    exact_block,
    exact_for_one,
    greedy_block,
    random_block,
    survey_lists,
    write_picked,
)
from brokerwise.model.arrays import Float64s, Int32s, Int64s, read_only

SELECTIONS = ("random", "greedy", "exact", "priced")

SHARED, FORCED, CROWDED = 0, 1, 2


class Pricing(NamedTuple):
    """What a pair of each topic costs, and scratch for one subscriber."""

    prices: Float64s
    desk: Desk
    scales: Scales


@leaf
def needed_part(
    lists: Int32s, begin: int, end: int, need: int, rates: Int64s
) -> tuple[int, int]:
    """Where those of [begin, end) end without which the others do not meet the need,
    which are the first, and what of the need they leave."""
    slack = -need
    for k in range(begin, end):
        slack += rates[lists[k]]
        if slack >= rates[lists[begin]]:
            return begin, need
    while begin < end and rates[lists[begin]] > slack:
        need -= rates[lists[begin]]
        begin += 1
    return begin, need


@leaf
def cheapest_lone(
    lists: Int32s, begin: int, end: int, rates: Int64s, prices: Float64s
) -> int:
    """Where the cheapest of [begin, end) is, of equal ones the last; -1 in none."""
    lone, limit = -1, np.inf
    for k in range(end - 1, begin - 1, -1):
        if rates[lists[k]] >= limit:
            break
        if prices[lists[k]] < limit:
            lone, limit = k, prices[lists[k]]
    return lone


@leaf
def list_cheaper(
    lists: Int32s,
    begin: int,
    end: int,
    left: int,
    limit: float,
    rates: Int64s,
    pricing: Pricing,
) -> int:
    """Make candidates of those of [begin, end) below the limit, and pick none yet;
    returns how many, 0 if they are not enough."""
    prices, picked, scales = pricing.prices, pricing.desk.picked, pricing.scales
    count, total = 0, 0
    for k in range(begin, end):
        topic = lists[k]
        picked[k - begin] = False
        if prices[topic] < limit:
            scales.places[count] = k - begin
            scales.values[count] = rates[topic]
            scales.costs[count] = prices[topic]
            total += rates[topic]
            count += 1
    return count if total >= left else 0


@leaf
def priced_for_one(
    lists: Int32s,
    begin: int,
    end: int,
    need: int,
    carried: CarriedTopics,
    pricing: Pricing,
    found: Int32s,
    at: int,
) -> int:
    """Write to `found[at:]` topics of [begin, end) that meet `need` at a small price:
    the least wherever sums are few enough to try, never above the exact selection's.
    Returns where they end; `found` has room for two selections.
    """
    rates, steps = carried.rates, carried.steps
    prices, desk = pricing.prices, pricing.desk
    others, left = needed_part(lists, begin, end, need, rates)
    for k in range(begin, others):
        found[at + k - begin] = lists[k]
    at += others - begin
    if left <= 0 or others == end:
        return at
    small = first_within(lists, others, end, left - 1, rates, steps)
    lone = cheapest_lone(lists, others, small, rates, prices)
    limit = prices[lists[lone]] if lone >= 0 else np.inf
    count = list_cheaper(lists, small, end, left, limit, rates, pricing)
    cost, proven, done = limit, True, at + 1
    if count:
        cost, proven = cheapest_together(count, left, desk.picked, pricing.scales)
    if cost < limit:
        done = write_picked(lists, small, end, desk.picked, found, at)
    else:
        found[at], cost = lists[lone], limit
    if proven:
        return done
    last, _ = exact_for_one(lists, others, end, left, carried, found, done, desk)
    return keep_cheaper(found, at, done, last, cost, prices)


@leaf
def keep_cheaper(
    found: Int32s, start: int, middle: int, end: int, cost: float, prices: Float64s
) -> int:
    """Of [start, middle), which costs `cost`, and [middle, end) keep the cheaper one,
    at `start`; returns where it ends."""
    if cost <= price_of(found, middle, end, prices):
        return middle
    for k in range(middle, end):
        found[start + k - middle] = found[k]
    return start + end - middle


@leaf
def price_of(found: Int32s, begin: int, end: int, prices: Float64s) -> float:
    price = 0.0
    for k in range(begin, end):
        price += prices[found[k]]
    return price


@kernel
def priced_block(
    block: Block, carried: CarriedTopics, pricing: Pricing, chosen: SelectedPairs
) -> None:
    """For each subscriber topics that meet its need at a small total price."""
    lists, found = block.lists, chosen.topics
    at = 0
    for i in range(len(block.needs)):
        start, need = at, block.needs[i]
        begin, end = carried_part(block, i, carried.low, carried.high)
        if need > 0:
            at, least = exact_for_one(
                lists, begin, end, need, carried, found, start, pricing.desk
            )
            # Prices are rates or more: what costs the least sum of rates is cheapest.
            if price_of(found, start, at, pricing.prices) > least:
                at = priced_for_one(
                    lists, begin, end, need, carried, pricing, found, start
                )
        count_chosen(chosen, i, start, at)


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
        """Add a survey of other subscribers; addition is commutative."""
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
    chosen = SelectedPairs(counts, ends, np.empty(2 * pairs, np.int32))
    block, carried = block_of(offsets, lists, needs), carried_of(topics)
    if rule.name == "random":
        random_block(np.uint64(rule.seed % 2**64), first, block, carried, chosen)
    elif rule.name == "greedy":
        greedy_block(block, carried, chosen)
    elif rule.prices is None:
        exact_block(block, carried, Desk.for_lists(offsets), chosen)
    else:
        prices = read_only(rule.prices)
        desk, scales = Desk.for_lists(offsets), Scales.for_lists(offsets)
        priced_block(block, carried, Pricing(prices, desk, scales), chosen)
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
        SurveyCounts(survey.followers, survey.counts, survey.forced, totals),
    )
    survey.outgoing += int(totals[OUTGOING])
    survey.paper += int(totals[PAPER])
    survey.modest += int(totals[MODEST])
    survey.unreachable += int(totals[UNREACHABLE])
    survey.example = int(totals[EXAMPLE])
    survey.needed_rate = max(survey.needed_rate, int(totals[NEEDED_RATE]))


def block_of(offsets: Int64s, lists: Int32s, needs: Int64s) -> Block:
    """Read-only, as workloads are: kernels are compiled for one kind of array."""
    return Block(read_only(offsets), read_only(lists), read_only(needs))


def carried_of(topics: Topics) -> CarriedTopics:
    rates, steps = read_only(topics.rates), read_only(topics.steps)
    return CarriedTopics(rates, steps, topics.low, topics.high)
