"""The selection that prefers topics which cost less per pair: `priced`.

A pair costs at least its rate, so topics with a larger rate than the price of a way
to meet the need are not looked at.
"""

import numpy as np

from brokerwise.kernels.blocks import (
    Block,
    Carried,
    Chosen,
    carried_part,
    count_chosen,
    first_within,
)
from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.covering import Scales, cheapest_together
from brokerwise.kernels.exact import Desk, exact_for_one, write_picked
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s


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
    prices: Float64s,
    picked: Bools,
    scales: Scales,
) -> int:
    """Make candidates of those of [begin, end) below the limit, and pick none yet;
    returns how many, 0 if they are not enough."""
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
    rates: Int64s,
    prices: Float64s,
    steps: Int32s,
    found: Int32s,
    at: int,
    desk: Desk,
    scales: Scales,
) -> int:
    """Write to `found[at:]` topics of [begin, end) that meet `need` at a small price:
    the least wherever sums are few enough to try, never above the exact selection's.
    Returns where they end; `found` has room for two selections.
    """
    others, left = needed_part(lists, begin, end, need, rates)
    for k in range(begin, others):
        found[at + k - begin] = lists[k]
    at += others - begin
    if left <= 0 or others == end:
        return at
    small = first_within(lists, others, end, left - 1, rates, steps)
    lone = cheapest_lone(lists, others, small, rates, prices)
    limit = prices[lists[lone]] if lone >= 0 else np.inf
    count = list_cheaper(
        lists, small, end, left, limit, rates, prices, desk.picked, scales
    )
    cost, proven, done = limit, True, at + 1
    if count:
        cost, proven = cheapest_together(count, left, desk.picked, scales)
    if cost < limit:
        done = write_picked(lists, small, end, desk.picked, found, at)
    else:
        found[at], cost = lists[lone], limit
    if proven:
        return done
    last, _ = exact_for_one(lists, others, end, left, rates, steps, found, done, desk)
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
    block: Block,
    carried: Carried,
    prices: Float64s,
    desk: Desk,
    scales: Scales,
    chosen: Chosen,
) -> None:
    """For each subscriber topics that meet its need at a small total price."""
    rates, steps, low, high = carried
    lists, found = block.lists, chosen.topics
    at = 0
    for i in range(len(block.needs)):
        start, need = at, block.needs[i]
        begin, end = carried_part(block, i, low, high)
        if need > 0:
            at, least = exact_for_one(
                lists, begin, end, need, rates, steps, found, start, desk
            )
            # Prices are rates or more: what costs the least sum of rates is cheapest.
            if price_of(found, start, at, prices) > least:
                at = priced_for_one(
                    lists,
                    begin,
                    end,
                    need,
                    rates,
                    prices,
                    steps,
                    found,
                    start,
                    desk,
                    scales,
                )
        count_chosen(chosen, i, start, at)
