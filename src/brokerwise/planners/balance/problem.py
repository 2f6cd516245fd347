"""What a balancing policy is asked about."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class Problem:
    """A snapshot, and what may not be touched.

    `held` sessions stay where they are; brokers that are not `open` take none, and
    those that are `closing` (never open) are to be left by all of theirs.
    """

    snapshot: Snapshot
    held: Bools
    open: Bools
    closing: Bools

    def __post_init__(self) -> None:
        counts = {
            "held": self.snapshot.sessions,
            "open": self.snapshot.brokers,
            "closing": self.snapshot.brokers,
        }
        for field, count in counts.items():
            values = np.asarray(getattr(self, field), np.bool_)
            if values.shape != (count,):
                raise InputError(
                    f"{field}: found {len(values):,} entries, expected {count:,}"
                )
            object.__setattr__(self, field, read_only(values))
        if (self.open & self.closing).any():
            raise InputError("open: found a broker that is closing as well")

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Problem":
        """Every session may go to every broker."""
        return cls(
            snapshot,
            np.zeros(snapshot.sessions, np.bool_),
            np.ones(snapshot.brokers, np.bool_),
            np.zeros(snapshot.brokers, np.bool_),
        )
