"""What any wiring must cost, by prices on brokers and charges for sub-channels."""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.overlay_forwarding import FAR
from brokerwise.model.arrays import Int32s, Int64s


@kernel
def relaxed_access(
    load: Int64s, access: Int64s, prices: Int64s, usage: Int64s
) -> tuple[int, int]:
    """The least that users pay if brokers had room for all, at a price for their load.

    Returns it, and the part of it that are links. `usage` gets each broker's load. Ties
    go to the lower broker.
    """
    usage[:] = 0
    total = 0
    links = 0
    for user in range(len(load)):
        least, chosen = FAR, 0
        for broker in range(len(prices)):
            cost = access[user, broker]
            if cost >= 0 and cost + prices[broker] < least:
                least, chosen = cost + prices[broker], broker
        total += load[user] * least
        links += load[user] * access[user, chosen]
        usage[chosen] += load[user]
    return total, links


@leaf
def _spare(slack: Int64s, low: int, high: int, most: int) -> int:
    """The least slack outside of brokers low to high, or `most` if that is less."""
    for broker in range(low):
        most = min(most, slack[broker])
    for broker in range(high, len(slack)):
        most = min(most, slack[broker])
    return most


class Groups(NamedTuple):
    """Group g is brokers low[g] to high[g]; amounts[c, g] is what it costs if it has a
    follower of sub-channel c."""

    low: Int64s
    high: Int64s
    amounts: Int64s


@kernel
def absorb(
    slack: Int64s,
    home: Int32s,
    offsets: Int64s,
    followers: Int32s,
    groups: Groups,
    tries: int,
    absorbed: Int64s,
) -> None:
    """Charge users for groups of brokers that their sub-channels come to.

    Some follower in the group pays, as long as it is not cheaper for it to leave:
    slack[i, j] is what user i would pay more on broker j, and 0 on its `home`.
    absorbed[c] is what was charged. Followers of a sub-channel are ordered by home; of
    each group, at most `tries` are asked.
    """
    low, high, amounts = groups
    for group in range(len(low)):
        for subchannel in range(len(amounts)):
            rest = amounts[subchannel, group]
            if rest == 0:
                continue
            fans = followers[offsets[subchannel] : offsets[subchannel + 1]]
            homes = home[fans]
            first = np.searchsorted(homes, low[group])
            inside = np.searchsorted(homes, high[group]) - first
            for turn in range(min(inside, tries)):
                # Sub-channels begin at different users, who have slack once.
                user = fans[first + (turn + subchannel * 7919) % inside]
                paid = _spare(slack[user], low[group], high[group], rest)
                if paid == 0:
                    continue
                slack[user, : low[group]] -= paid
                slack[user, high[group] :] -= paid
                absorbed[subchannel] += paid
                rest -= paid
                if rest == 0:
                    break
