"""Moving one user to the broker where the whole overlay costs least."""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_core import (
    FAR,
    fill_table,
    forwarding,
    gather,
    spanning,
    with_one_more,
)
from brokerwise.model.arrays import Bools, Int32s, Int64s


@kernel
def move_costs(
    user_load: int,
    access: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted: Int32s,
    home: int,
    room: Int64s,
    core: Int64s,
    followers: Int32s,
    sources: Int64s,
    weights: Int64s,
    costs: Int64s,
    tables: Int64s,
    sums: Int64s,
    known: Bools,
    changes: Int64s,
) -> None:
    """How the cost of the whole overlay changes if one user moves: changes[j].

    The user is on broker `home` and counted there. `room` is what each broker has
    left, `weights` what a message from each broker costs in each sub-channel, `costs`
    what each sub-channel costs the core. FAR where the user may not go, or where moving
    cannot lower the cost.

    `tables` may be empty; if not, it keeps `fill_table` of each sub-channel, and `sums`
    its product with the sources, where `known`: then a sub-channel that gets another
    broker costs O(brokers) here, instead of O(brokers * members * outside).
    """
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
    """Leave out brokers where nothing can be saved any more."""
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
    members = np.empty(brokers, np.int32)
    parent = np.empty(brokers, np.int32)
    link = np.empty(brokers, np.int64)
    scratch = np.empty(brokers, np.int64)
    alone = inside[home] == 1
    stayed = -1  # its cost if the user goes where others want it, too
    for broker in range(brokers):
        if changes[broker] == FAR or (inside[broker] > 0 and not alone):
            continue
        if inside[broker] > 0 and stayed >= 0:
            changes[broker] += stayed - cost
            continue
        there = _forwarded(
            core,
            inside,
            home if alone else -1,
            broker,
            sources,
            home,
            rate,
            members,
            parent,
            link,
            scratch,
        )
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
    members: Int32s,
    parent: Int32s,
    link: Int64s,
    scratch: Int64s,
) -> int:
    """What a sub-channel would cost the core if broker `without` had no followers and
    broker `also` had some, and a user's rate moved from broker `moved` to `also`."""
    count = gather(inside, without, also, members)
    weight = spanning(core, members, count, parent, link, scratch)
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
            total += sent * with_one_more(
                core, members, count, parent, link, scratch, source
            )
    return total


@kernel
def move_user(
    user_load: int,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted: Int32s,
    home: int,
    target: int,
    core: Int64s,
    load: Int64s,
    followers: Int32s,
    sources: Int64s,
    weights: Int64s,
    costs: Int64s,
    tables: Int64s,
    sums: Int64s,
    known: Bools,
) -> None:
    """Move one user, and mend what follows: O(brokers * members) for each sub-channel
    that gets another broker or loses one, O(brokers) at most for others."""
    brokers = len(load)
    load[home] -= user_load
    load[target] += user_load
    for k in range(len(rates)):
        row, rate = rate_subchannels[k], rates[k]
        sources[row, home] -= rate
        sources[row, target] += rate
        costs[row] += rate * (weights[row, target] - weights[row, home])
        if known[row]:
            for broker in range(brokers):
                table = tables[row, broker]
                sums[row, broker] += rate * (table[target] - table[home])
    members = np.empty(brokers, np.int32)
    parent = np.empty(brokers, np.int32)
    link = np.empty(brokers, np.int64)
    scratch = np.empty(brokers, np.int64)
    for row in wanted:
        inside = followers[row]
        inside[home] -= 1
        inside[target] += 1
        if inside[home] > 0 and inside[target] > 1:
            continue
        forwarding(core, inside, weights[row], members, parent, link, scratch)
        cost = 0
        for broker in range(brokers):
            cost += sources[row, broker] * weights[row, broker]
        costs[row] = cost
        known[row] = False


@kernel
def descend(
    users: Int64s,
    user_loads: Int64s,
    access: Int64s,
    rate_offsets: Int64s,
    rate_subchannels: Int32s,
    rates: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
    capacity: Int64s,
    core: Int64s,
    home: Int32s,
    load: Int64s,
    followers: Int32s,
    sources: Int64s,
    weights: Int64s,
    costs: Int64s,
    tables: Int64s,
    sums: Int64s,
    known: Bools,
) -> tuple[int, int]:
    """Each of `users` in turn to the broker where the overlay costs least, of equals
    the first, if that is less than now. Returns moves, and by how much it got cheaper.
    """
    brokers = len(load)
    changes = np.empty(brokers, np.int64)
    moves = 0
    saved = 0
    for user in users:
        published = slice(rate_offsets[user], rate_offsets[user + 1])
        wants = wanted[wanted_offsets[user] : wanted_offsets[user + 1]]
        move_costs(
            user_loads[user],
            access[user],
            rate_subchannels[published],
            rates[published],
            wants,
            home[user],
            capacity - load,
            core,
            followers,
            sources,
            weights,
            costs,
            tables,
            sums,
            known,
            changes,
        )
        best = 0
        for broker in range(brokers):
            if changes[broker] < changes[best]:
                best = broker
        if changes[best] >= 0:
            continue
        move_user(
            user_loads[user],
            rate_subchannels[published],
            rates[published],
            wants,
            home[user],
            best,
            core,
            load,
            followers,
            sources,
            weights,
            costs,
            tables,
            sums,
            known,
        )
        home[user] = best
        moves += 1
        saved -= changes[best]
    return moves, saved
