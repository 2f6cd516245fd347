"""What users' brokers make of a network: loads, and who forwards what to whom.

Stated again: a user sends what it publishes in sub-channels that somebody else wants,
and receives what others publish in those that it wants. Both are its load, which its
access link carries once.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerwise.auditing.overlay_claims import OverlayClaims
from brokerwise.model.arrays import Bools, Int64s
from brokerwise.model.network import Network

NOWHERE = -1
"""The home of a user who has none, or one that does not exist."""


@dataclass(frozen=True, eq=False)
class OverlayRecount:
    """What was counted.

    Attributes
    ----------
    homes
        The broker of each user, or NOWHERE.
    load, users
        Of each broker.
    wanted
        Whether a user on a broker (column) wants a sub-channel (row).
    sent
        What users on a broker (column) send in a sub-channel (row).
    """

    homes: Int64s
    load: Int64s
    users: Int64s
    access: int
    wanted: Bools
    sent: Int64s


def recounted(claims: OverlayClaims, network: Network) -> OverlayRecount:
    """O(users + entries + brokers * sub-channels)."""
    homes = _homes(claims, network)
    brokers, shape = network.brokers, (len(network.subchannels), network.brokers)
    publisher, subscriber = network.published.owners(), network.wanted.owners()
    others = _wanted_by_others(network)
    rates = np.where(others, network.published.rates, 0)
    loads = _sums(publisher, rates, network.users) + _received(network)
    wanted, sent = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    placed = homes >= 0
    known = placed[subscriber]
    wanted[network.wanted.subchannels[known], homes[subscriber[known]]] = True
    known = placed[publisher]
    at = (network.published.subchannels[known], homes[publisher[known]])
    np.add.at(sent, at, rates[known])
    links = np.maximum(network.access[placed, homes[placed]], 0)
    return OverlayRecount(
        homes=homes,
        load=_sums(homes[placed], loads[placed], brokers),
        users=np.bincount(homes[placed], minlength=brokers),
        access=int(loads[placed] @ links),
        wanted=wanted,
        sent=sent,
    )


def _homes(claims: OverlayClaims, network: Network) -> Int64s:
    """The broker of each user, by the first row that gives it one that exists."""
    homes = np.full(network.users, NOWHERE, np.int64)
    users, brokers = claims.users[::-1], claims.homes[::-1]
    usable = (users >= 0) & (users < network.users)
    usable &= (brokers >= 0) & (brokers < network.brokers)
    homes[users[usable]] = brokers[usable]
    return homes


def _wanted_by_others(network: Network) -> Bools:
    """Of what is published, whether anybody but its publisher wants it."""
    count = len(network.subchannels)
    published, wanted = network.published, network.wanted
    followers = np.bincount(wanted.subchannels, minlength=count)
    return followers[published.subchannels] - _own(network) > 0


def _own(network: Network) -> Bools:
    """Of what is published, whether its publisher wants it too."""
    count = len(network.subchannels)
    published, wanted = network.published, network.wanted
    wishes = wanted.owners() * count + wanted.subchannels
    offers = published.owners() * count + published.subchannels
    if len(wishes) == 0:
        return np.zeros(len(offers), np.bool_)
    at = np.minimum(np.searchsorted(wishes, offers), len(wishes) - 1)
    own: Bools = wishes[at] == offers
    return own


def _received(network: Network) -> Int64s:
    """What each user gets: all that others publish in sub-channels that it wants."""
    published, wanted = network.published, network.wanted
    total = _sums(published.subchannels, published.rates, len(network.subchannels))
    gets = _sums(wanted.owners(), total[wanted.subchannels], network.users)
    own = np.where(_own(network), published.rates, 0)
    return gets - _sums(published.owners(), own, network.users)


def _sums(of: npt.NDArray[np.integer], values: Int64s, count: int) -> Int64s:
    found = np.zeros(count, np.int64)
    np.add.at(found, of, values)
    return found
