"""Moving users towards others who want the same."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Float64s, Int32s, Int64s


@kernel
def gather_users(
    users: Int64s,
    user_loads: Int64s,
    access: Int64s,
    wanted_offsets: Int64s,
    wanted: Int32s,
    capacity: Int64s,
    home: Int32s,
    load: Int64s,
    followers: Int32s,
    prices: Float64s,
    softness: float,
    closed: int,
) -> int:
    """Each of `users` in turn to the broker that costs it least, if a broker with n
    followers of a sub-channel costs prices[c] * n * (1 + softness) / (n + softness).

    A user alone cannot close a sub-channel at a broker, so it sees no reason to leave.
    With this cost each follower fewer saves something, most of all the last ones. The
    smaller `softness`, the closer to the price of having any follower. Nobody stays on
    or goes to broker `closed` (-1: none) who has room elsewhere. Returns moves.
    """
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
        wants = wanted[wanted_offsets[user] : wanted_offsets[user + 1]]
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
