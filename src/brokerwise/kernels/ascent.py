"""Charging incoming traffic to subscribers, to bound what every plan must carry.

Every pair of topic t that is selected is charged w, so that the charges of a topic's
pairs together never exceed what its brokers receive, whatever is selected. Then the
load of any plan is at least the sum over subscribers of the cheapest way to meet the
need at rate + w a pair. This holds for any such charges; ascent looks for charges
that make the sum large.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.blocks import Block, CarriedTopics, carried_part
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.covering import (
    Scales,
    few_enough,
    fractional_cost,
    least_cost,
)
from brokerwise.kernels.exact import Desk, exact_for_one
from brokerwise.kernels.selection import (
    CROWDED,
    FORCED,
    SHARED,
    Survey,
    Topics,
    Weights,
    block_of,
    carried_of,
)
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s, read_only

Shares = npt.NDArray[np.uint32]

MOST_SHARE = 2**31 - 1
LARGE_SHARE, SMALL_SHARE = 1 << 20, 1 << 10
# What `least` says of a subscriber: nothing yet, or (below) that it is settled.
UNKNOWN = -1
SETTLED = -2
# Of the factor between a share that is raised and one that is lowered, in bits: how
# many there are in the first round, what becomes of them from round to round, and the
# part that goes into raising. All rounds together keep a share within its limits.
_FIRST_BITS = 7.0
_FEWER_BITS = 0.6
_RAISING = 0.35


class Charges(NamedTuple):
    """`unit` and `kind` of each topic, as `Weights` has them; what shares are
    multiplied by where they are raised, and where they are lowered."""

    unit: Float64s
    kind: Int32s
    raising: float
    lowering: float


class AscentDesk(NamedTuple):
    """Scratch for one subscriber: what its topics cost, those of the exact selection,
    and more."""

    desk: Desk
    scales: Scales
    costs: Float64s
    found: Int32s


def receptions(topics: Topics, survey: Survey, capacity: int) -> Int64s:
    """How many brokers at least receive each topic, in any plan.

    A broker with room for `capacity` serves at most capacity // rate - 1 pairs of a
    topic, and all subscribers that force it are served.
    """
    served = _pairs_on_one(topics, capacity)
    received: Int64s = -(-survey.forced // served)
    received[: topics.low] = received[topics.high :] = 0
    return received


def weights_of(
    topics: Topics, survey: Survey, capacity: int, sums: Int64s, number: int = 2
) -> Weights:
    """Charges for round `number`, from the sums of each topic's shares.

    Let n pairs of topic t be selected, f of them by subscribers that force it, and k
    be the most that one broker serves. If n > 0, at least ceil(n / k) brokers receive
    it. SHARED: all shares together are charged the rate once, so any n of them at
    most that. FORCED: f pairs are charged rate * ceil(f / k), others nothing, and
    n >= f. CROWDED: n pairs are charged rate * n / k. So charges never exceed what is
    received, whichever kind a topic is given; it is given the one that charges most
    if what is selected is like the exact selection. `number` sets the step only.
    """
    served = _pairs_on_one(topics, capacity)
    received = receptions(topics, survey, capacity)
    kind = np.where(survey.forced > 0, FORCED, SHARED)
    kind[survey.counts > served * np.maximum(received, 1)] = CROWDED
    unit = np.choose(
        kind,
        [
            topics.rates / np.maximum(sums, 1),
            topics.rates * received / np.maximum(survey.forced, 1),
            topics.rates / served,
        ],
    )
    bits = _FIRST_BITS * _FEWER_BITS ** (number - 1)
    return Weights(unit, kind.astype(np.int32), bits)


def first_sums(survey: Survey) -> Int64s:
    """The sums of each topic's shares as the first round sets them: by whether the
    exact selection has the pair."""
    sums: Int64s = survey.counts * LARGE_SHARE
    sums += (survey.followers - survey.counts) * SMALL_SHARE
    return sums


def _pairs_on_one(topics: Topics, capacity: int) -> Int64s:
    """Pairs of each topic on one broker at most; 1 for those that are not carried."""
    served: Int64s = np.maximum(capacity // np.maximum(topics.rates, 1) - 1, 1)
    return served


def ascend_block(
    topics: Topics,
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    weights: Weights,
    least: Int64s,
    shares: Shares,
    sums: Int64s,
) -> float:
    """One round of ascent over a block; returns what its subscribers cost at least.

    `least` (what each subscriber must at least be sent) is filled in where it is -1.
    `shares` (aligned with `lists`) are raised where chosen and lowered elsewhere, in
    place, and added to `sums` by topic. A subscriber that can be sent the least
    without any charge costs just that, whatever it is charged for other topics: it is
    settled, gives up its shares, and is passed over from then on, with SETTLED - least
    in `least`. The cost of a subscriber is exact if its sums
    are few enough to try; else it is that of having the last topic in part. The
    total is off by rounding, by far less than one part in 10^9.
    """
    desk = Desk.for_lists(offsets)
    return ascend_lists(
        block_of(offsets, lists, needs),
        carried_of(topics),
        Charges(
            read_only(weights.unit),
            read_only(weights.kind),
            2.0 ** (weights.bits * _RAISING),
            2.0 ** (weights.bits * (_RAISING - 1)),
        ),
        AscentDesk(
            desk,
            Scales.for_lists(offsets),
            np.empty(len(desk.rates)),
            np.empty(len(desk.rates), np.int32),
        ),
        least,
        shares,
        sums,
    )


@kernel
def ascend_lists(
    block: Block,
    carried: CarriedTopics,
    charges: Charges,
    scratch: AscentDesk,
    least: Int64s,
    shares: Shares,
    sums: Int64s,
) -> float:
    """See `ascend_block`."""
    desk, scales, costs, found = scratch
    kind = charges.kind
    lists = block.lists
    total = 0.0
    for i in range(len(block.needs)):
        if least[i] < UNKNOWN:
            total += SETTLED - least[i]
            continue
        begin, end = carried_part(block, i, carried.low, carried.high)
        size = 0
        if least[i] == UNKNOWN:
            size, least[i] = exact_for_one(
                lists, begin, end, block.needs[i], carried, found, 0, desk
            )
            share_first(lists, begin, end, found, size, shares)
        charge(block, i, begin, end, carried.rates, charges, shares, scratch)
        if size and cost_of(lists, begin, end, found, size, costs) == least[i]:
            total += least[i]
            least[i] = SETTLED - least[i]
            for k in range(begin, end):
                shares[k] = 0
            continue
        total += cost_at_least(costs, end - begin, least[i], desk, scales)
        for k in range(begin, end):
            if kind[lists[k]] == SHARED:
                picked = desk.picked[k - begin]
                factor = charges.raising if picked else charges.lowering
                shares[k] = share_within_limits(shares[k] * factor)
                sums[lists[k]] += shares[k]
    return total


@leaf
def share_first(
    lists: Int32s, begin: int, end: int, found: Int32s, size: int, shares: Shares
) -> None:
    """Large shares of topics that are `found`, small ones of others of [begin, end)."""
    at = 0
    for k in range(begin, end):
        if at < size and found[at] == lists[k]:
            shares[k] = LARGE_SHARE
            at += 1
        else:
            shares[k] = SMALL_SHARE


@leaf
def cost_of(
    lists: Int32s, begin: int, end: int, found: Int32s, size: int, costs: Float64s
) -> float:
    """What the topics `found`, which are some of [begin, end), cost with charges."""
    cost, at = 0.0, 0
    for k in range(begin, end):
        if at < size and found[at] == lists[k]:
            cost += costs[k - begin]
            at += 1
    return cost


@leaf
def share_within_limits(share: float) -> np.uint32:
    return np.uint32(min(max(share, 1.0), float(MOST_SHARE)))


@leaf
def charge(
    block: Block,
    i: int,
    begin: int,
    end: int,
    rates: Int64s,
    charges: Charges,
    shares: Shares,
    scratch: AscentDesk,
) -> None:
    """Rates of the topics of [begin, end), and their costs: what they are charged
    too."""
    lists, own_rates, costs = block.lists, scratch.desk.rates, scratch.costs
    left_out = 0  # what the subscriber wants of topics that cannot be carried
    for k in range(block.offsets[i], begin):
        left_out += rates[lists[k]]
    carried = 0
    for k in range(begin, end):
        own_rates[k - begin] = rates[lists[k]]
        carried += rates[lists[k]]
    slack = carried - min(block.needs[i], carried + left_out)
    for k in range(begin, end):
        topic, rate = lists[k], own_rates[k - begin]
        charged = charges.unit[topic]
        if charges.kind[topic] == SHARED:
            charged *= shares[k]
        elif charges.kind[topic] == FORCED and rate <= slack:
            charged = 0.0
        costs[k - begin] = rate + charged


@leaf
def cost_at_least(
    costs: Float64s, size: int, target: int, desk: Desk, scales: Scales
) -> float:
    """What rates that reach the target cost at least; picks those that cost it.

    What must be picked is; of rates that reach what is then left alone only the
    cheapest matters, and of the others those that cost less than it.
    """
    rates, picked = desk.rates, desk.picked
    begin, left, cost = pick_needed(rates, size, target, costs, picked)
    if left <= 0 or begin == size:
        return cost
    lone, limit = -1, np.inf
    while begin < size and rates[begin] >= left:
        if costs[begin] < limit:
            lone, limit = begin, costs[begin]
        begin += 1
    count = list_cheaper(rates, begin, size, left, limit, costs, scales)
    together = np.inf
    if count and few_enough(count, left):
        together = least_cost(count, left, picked, scales)
    elif count:
        together = fractional_cost(count, left, picked, scales)
    if together < limit:
        return cost + together
    for i in range(count):
        picked[scales.places[i]] = False
    picked[lone] = True
    return cost + limit


@leaf
def pick_needed(
    rates: Int64s, size: int, target: int, costs: Float64s, picked: Bools
) -> tuple[int, int, float]:
    """Pick those without which the others do not reach the target, no others.

    Returns where the others begin, what of the target is left, and the cost.
    """
    slack = -target
    for k in range(size):
        slack += rates[k]
        picked[k] = False
    needed, cost = 0, 0.0
    while needed < size and rates[needed] > slack:
        picked[needed] = True
        target -= rates[needed]
        cost += costs[needed]
        needed += 1
    return needed, target, cost


@leaf
def list_cheaper(
    rates: Int64s,
    begin: int,
    size: int,
    left: int,
    limit: float,
    costs: Float64s,
    scales: Scales,
) -> int:
    """Make candidates of those from `begin` on that cost less than the limit; returns
    how many, 0 if they do not reach what is left."""
    count, total = 0, 0
    for k in range(begin, size):
        if costs[k] < limit:
            scales.places[count] = k
            scales.values[count] = rates[k]
            scales.costs[count] = costs[k]
            total += rates[k]
            count += 1
    return count if total >= left else 0
