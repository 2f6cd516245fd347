"""What a balancing policy is asked: the fleet and what may not be touched, when to move
sessions and how many, and the load that no placement can go below.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from brokerwise.model.arrays import Bools, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Snapshot
from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stop, check_name, never

POLICIES = ("none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh", "planned")
"""The paper's stages by their names, alone and together; `planned` is ours."""


@dataclass(frozen=True)
class PolicyOptions:
    """When to move sessions, and how many: declared here once, for planners, running
    fleets and simulations.

    Attributes
    ----------
    alpha, beta
        Sessions move only while cov is above `alpha` and the mean load above `beta`,
        in the unit of the snapshot's rates.
    gamma, theta
        The same for a shuffle of all sessions (`gsh`).
    max_moves, max_bytes
        Sessions that may move, and state to copy, at most; None: any. For
        `planned`; the paper's policies end where these are used up.
    hot
        Relieve only brokers whose load is above (1 + hot) times the mean, and only
        until it is not; None: all.
    """

    policy: str = "planned"
    alpha: float = 0.1
    beta: float = 0.0
    gamma: float = 0.5
    theta: float = 0.0
    max_moves: int | None = None
    max_bytes: int | None = None
    hot: float | None = None

    def __post_init__(self) -> None:
        check_name("policy", self.policy, POLICIES)
        for field in ("alpha", "beta", "gamma", "theta", "hot"):
            found = getattr(self, field)
            if found is not None and not (isfinite(found) and found >= 0):
                raise InputError(f"{field}: found {found!r}, expected 0 or more")
        for field in ("max_moves", "max_bytes"):
            if getattr(self, field) is not None:
                checked_count(getattr(self, field), field)


@dataclass(frozen=True)
class Options(PolicyOptions):
    """What a planner is asked for."""

    stop: Stop = never


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


def lower_bound(snapshot: Snapshot, brokers: int) -> int:
    """No placement of all sessions on `brokers` brokers has a lower maximum load.

    Every topic that is wanted is received at least once and sent to each of its
    sessions: some broker carries at least the mean of that. And the broker of the
    heaviest session receives all of its topics and sends them to it. O(pairs).
    """
    if not brokers or not snapshot.sessions:
        return 0
    pairs = np.bincount(snapshot.wanted.topics, minlength=len(snapshot.rates))
    total = int((snapshot.rates * (pairs + (pairs > 0))).sum())
    heaviest = int(snapshot.own_loads().max())
    return max(-(-total // brokers), 2 * heaviest)
