"""Local search: users move to the broker where the whole overlay costs least, or
towards others who want the same.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_forwarding import (
    FAR,
    Span,
    fill_table,
    forwarding,
    gather,
    span_for,
    spanning,
    with_one_more,
)
from brokerwise.kernels.overlay_packing import Users, Wiring, published_by, wanted_by
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s


@kernel
def gather_users(
    users: Int64s,
    everyone: Users,
    capacity: Int64s,
    wiring: Wiring,
    prices: Float64s,
    softness: float,
    closed: int,
) -> int:
    """Each of `users` in turn to the broker that costs it least, if a broker with n
    followers of a sub-channel costs prices[c] * n * (1 + softness) / (n + softness).

    A user alone cannot close a sub-channel at a broker, so it sees no reason to leave.
    With this cost each follower fewer saves something, most of all the last ones. The
    smaller `softness`, the closer to the price of having any follower. Nobody stays on
    or goes to broker `closed` (-1: none) who has room elsewhere. Keeps all of the
    wiring true but `sources`. Returns moves.
    """
    user_loads, access = everyone.load, everyone.access
    home, load, followers = wiring.broker, wiring.load, wiring.followers
    brokers = len(load)
    costs = np.empty(brokers, np.float64)
    moves = 0
    for user in users:
        here = home[user]
        for broker in range(brokers):
            fits = broker == here or capacity[broker] - load[broker] >= user_loads[user]
            costs[broker] = np.inf
            if access[user, broker] >= 0 and fits:
                costs[broker] = float(user_loads[user]) * access[user, broker]
        wants = wanted_by(everyone, user)
        for subchannel in wants:
            price = prices[subchannel] * softness * (1 + softness)
            for broker in range(brokers):
                others = followers[subchannel, broker] - (broker == here)
                costs[broker] += price / ((others + softness) * (others + 1 + softness))
        if closed >= 0:
            costs[closed] = np.inf
        best = here
        for broker in range(brokers):
            if costs[broker] < costs[best]:
                best = broker
        if best == here:
            continue
        home[user] = best
        load[here] -= user_loads[user]
        load[best] += user_loads[user]
        moves += 1
        for subchannel in wants:
            followers[subchannel, here] -= 1
            followers[subchannel, best] += 1
    return moves


class CoreCosts(NamedTuple):
    """What forwarding costs, kept true as users move.

    `tables` may be empty; if not, it keeps `fill_table` of each sub-channel, and `sums`
    its product with the sources, where `known`: then a sub-channel that gets another
    broker costs O(brokers), instead of O(brokers * members * outside).
    """

    core: Int64s
    weights: Int64s  # what a message from each broker costs, by sub-channel (row)
    costs: Int64s  # of each sub-channel
    tables: Int64s
    sums: Int64s
    known: Bools


@kernel
def move_costs(
    user: int,
    everyone: Users,
    room: Int64s,
    wiring: Wiring,
    forwarded: CoreCosts,
    changes: Int64s,
) -> None:
    """How the cost of the whole overlay changes if one user moves: changes[j].

    The user is counted on its broker. `room` is what each broker has left. FAR where
    the user may not go, or where moving cannot lower the cost.
    """
    core, weights, costs, tables, sums, known = forwarded
    followers, sources = wiring.followers, wiring.sources
    user_load, access = everyone.load[user], everyone.access[user]
    published = published_by(everyone, user)
    rate_subchannels = everyone.rate_subchannels[published]
    rates, wanted = everyone.rates[published], wanted_by(everyone, user)
    home = wiring.broker[user]
    brokers = len(room)
    for broker in range(brokers):
        changes[broker] = FAR
        if access[broker] >= 0 and room[broker] >= user_load and broker != home:
            changes[broker] = user_load * (access[broker] - access[home])
    _add_published(rate_subchannels, rates, wanted, home, weights, changes)
    hope = 0  # what the sub-channels that it wants may still save
    for subchannel in wanted:
        hope += _most_saved(costs[subchannel], followers[subchannel, home] == 1)
    at = 0
    for subchannel in wanted:
        while at < len(rates) and rate_subchannels[at] < subchannel:
            at += 1
        rate = 0
        if at < len(rates) and rate_subchannels[at] == subchannel:
            rate = rates[at]
        alone = followers[subchannel, home] == 1
        _give_up(changes, hope)
        hope -= _most_saved(costs[subchannel], alone)
        if alone or len(tables) == 0:
            _add_counted(
                core,
                followers[subchannel],
                sources[subchannel],
                home,
                rate,
                costs[subchannel],
                changes,
            )
        elif _grows(followers[subchannel], changes):
            if not known[subchannel]:
                fill_table(core, followers[subchannel], tables[subchannel])
                for broker in range(brokers):
                    sums[subchannel, broker] = 0
                    for source in range(brokers):
                        sums[subchannel, broker] += (
                            sources[subchannel, source]
                            * tables[subchannel, broker, source]
                        )
                known[subchannel] = True
            for broker in range(brokers):
                if changes[broker] < FAR and followers[subchannel, broker] == 0:
                    changes[broker] += sums[subchannel, broker] - costs[subchannel]


@leaf
def _most_saved(cost: int, alone: bool) -> int:
    """A tree with one more broker weighs at least half of it, in a metric."""
    return cost if alone else (cost + 1) // 2


@leaf
def _give_up(changes: Int64s, hope: int) -> None:
    """Leave out brokers where nothing more can be saved."""
    for broker in range(len(changes)):
        if changes[broker] < FAR and changes[broker] >= hope:
            changes[broker] = FAR


@leaf
def _grows(inside: Int32s, changes: Int64s) -> bool:
    """Whether the user may bring the sub-channel to a broker that has it not yet."""
    for broker in range(len(inside)):
        if inside[broker] == 0 and changes[broker] < FAR:
            return True
    return False


@leaf
def _add_published(
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted: Int32s,
    home: int,
    weights: Int64s,
    changes: Int64s,
) -> None:
    """Add what changes for messages that the user publishes but does not want."""
    at = 0
    for k in range(len(rates)):
        subchannel = rate_subchannels[k]
        while at < len(wanted) and wanted[at] < subchannel:
            at += 1
        if at < len(wanted) and wanted[at] == subchannel:
            continue
        here = weights[subchannel, home]
        for broker in range(len(changes)):
            if changes[broker] < FAR:
                changes[broker] += rates[k] * (weights[subchannel, broker] - here)


@kernel
def _add_counted(
    core: Int64s,
    inside: Int32s,
    sources: Int64s,
    home: int,
    rate: int,
    cost: int,
    changes: Int64s,
) -> None:
    """Add what one sub-channel that the user wants changes, counted anew."""
    brokers = len(inside)
    span = span_for(brokers)
    alone = inside[home] == 1
    stayed = -1  # its cost if the user goes where others want it, too
    for broker in range(brokers):
        if changes[broker] == FAR or (inside[broker] > 0 and not alone):
            continue
        if inside[broker] > 0 and stayed >= 0:
            changes[broker] += stayed - cost
            continue
        without = home if alone else -1
        there = _forwarded(core, inside, without, broker, sources, home, rate, span)
        changes[broker] += there - cost
        if inside[broker] > 0:
            stayed = there


@kernel
def _forwarded(
    core: Int64s,
    inside: Int32s,
    without: int,
    also: int,
    sources: Int64s,
    moved: int,
    rate: int,
    span: Span,
) -> int:
    """What a sub-channel would cost the core if broker `without` had no followers and
    broker `also` had some, and a user's rate moved from broker `moved` to `also`."""
    count = gather(inside, without, also, span.members)
    weight = spanning(core, count, span)
    total = 0
    for source in range(len(inside)):
        sent = sources[source]
        if source == moved:
            sent -= rate
        if source == also:
            sent += rate
        if sent == 0:
            continue
        if source == also or (inside[source] > 0 and source != without):
            total += sent * weight
        else:
            total += sent * with_one_more(core, count, span, source)
    return total


@kernel
def move_user(
    user: int, target: int, everyone: Users, wiring: Wiring, forwarded: CoreCosts
) -> None:
    """Move one user, and mend what follows: O(brokers * members) for each sub-channel
    that gets another broker or loses one, O(brokers) at most for others."""
    core, weights, costs, tables, sums, known = forwarded
    load, followers, sources = wiring.load, wiring.followers, wiring.sources
    published = published_by(everyone, user)
    rate_subchannels = everyone.rate_subchannels[published]
    rates, wanted = everyone.rates[published], wanted_by(everyone, user)
    home = wiring.broker[user]
    wiring.broker[user] = target
    brokers = len(load)
    load[home] -= everyone.load[user]
    load[target] += everyone.load[user]
    for k in range(len(rates)):
        row, rate = rate_subchannels[k], rates[k]
        sources[row, home] -= rate
        sources[row, target] += rate
        costs[row] += rate * (weights[row, target] - weights[row, home])
        if known[row]:
            for broker in range(brokers):
                table = tables[row, broker]
                sums[row, broker] += rate * (table[target] - table[home])
    span = span_for(brokers)
    for row in wanted:
        inside = followers[row]
        inside[home] -= 1
        inside[target] += 1
        if inside[home] > 0 and inside[target] > 1:
            continue
        forwarding(core, inside, weights[row], span)
        cost = 0
        for broker in range(brokers):
            cost += sources[row, broker] * weights[row, broker]
        costs[row] = cost
        known[row] = False


@kernel
def descend(
    users: Int64s,
    everyone: Users,
    capacity: Int64s,
    wiring: Wiring,
    forwarded: CoreCosts,
) -> tuple[int, int]:
    """Each of `users` in turn to the broker where the overlay costs least, of equals
    the first, if that is less than now. Returns moves, and by how much it got cheaper.
    """
    brokers = len(wiring.load)
    changes = np.empty(brokers, np.int64)
    moves = 0
    saved = 0
    for user in users:
        room = capacity - wiring.load
        move_costs(user, everyone, room, wiring, forwarded, changes)
        best = 0
        for broker in range(brokers):
            if changes[broker] < changes[best]:
                best = broker
        if changes[best] >= 0:
            continue
        move_user(user, best, everyone, wiring, forwarded)
        moves += 1
        saved -= changes[best]
    return moves, saved
