"""Which users a broker should send elsewhere, by what it knows itself.

The distributed algorithm of Zhao and Wu (2011): each broker, now and then, redirects
the users with most traffic to the broker where the overlay costs least. It needs to
know its own users, and of other brokers only how many followers each sub-channel has
there, what is sent in it from there, and how much room they have. The decision is that
of `local`.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Evaluation
from brokerwise.planners.overlay.wiring import Wiring


@dataclass(frozen=True, eq=False)
class Known:
    """What one broker knows.

    Attributes
    ----------
    broker
        Which it is.
    users
        Its users, and the capacities and link costs of all brokers.
    load, followers, sources
        Of all brokers, itself included, as in `Wiring`.
    """

    broker: int
    users: Demand
    load: Int64s
    followers: Int32s
    sources: Int64s


@dataclass(frozen=True)
class Move:
    """Send a user (by its number among the broker's own) to another broker; the
    overlay gets cheaper by `saved`, in thousandths."""

    user: int
    target: int
    saved: int


def moves_of(known: Known, most: int) -> list[Move]:
    """At most so many moves, each the best for its user once those before are made.

    Users with most traffic come first. None if no move of one user helps. Each move
    lowers the cost of the whole as long as what the broker knows is true.
    """
    demand = known.users
    home = np.full(demand.users, known.broker, np.int32)
    wiring = Wiring(
        home, known.load.copy(), known.followers.copy(), known.sources.copy()
    )
    evaluation = Evaluation.on(demand, wiring)
    moves: list[Move] = []
    for user in demand.heaviest_first:
        if len(moves) == most:
            break
        moved, saved = evaluation.descend(demand, np.array([user]))
        if moved:
            moves.append(Move(int(user), int(home[user]), int(saved)))
    return moves
