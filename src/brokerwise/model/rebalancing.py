"""Which sessions of a fleet shall move, and what that makes of its loads."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.snapshot import imbalance


@dataclass(frozen=True, eq=False, repr=False)
class Rebalancing:
    """The answer of a balancing policy to a snapshot.

    Attributes
    ----------
    sessions, targets
        Who moves where: sessions ascending, none twice, none to where it is.
    before, after
        The load of each broker without these moves and with them.
    bound
        No placement of all sessions has a lower maximum load.
    reason
        Why these moves, or why none, in words.
    """

    policy: str
    sessions: Int32s
    targets: Int32s
    before: Int64s
    after: Int64s
    bound: int
    reason: str

    def __post_init__(self) -> None:
        freeze_arrays(
            *(self, "rebalancing"),
            sessions=np.int32,
            targets=np.int32,
            before=np.int64,
            after=np.int64,
        )

    @property
    def moves(self) -> int:
        return len(self.sessions)

    @property
    def max_before(self) -> int:
        return int(self.before.max(initial=0))

    @property
    def max_after(self) -> int:
        return int(self.after.max(initial=0))

    @property
    def cov_before(self) -> float:
        return imbalance(self.before)

    @property
    def cov_after(self) -> float:
        return imbalance(self.after)

    def __repr__(self) -> str:
        return (
            f"Rebalancing({self.policy}, {self.moves:,} moves, max load "
            f"{self.max_before:,} -> {self.max_after:,})"
        )
