"""A fleet at a moment: which sessions are where, and what each topic brings; and which
of them shall move, and what that makes of the loads.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.load import broker_loads, refuse_overflow


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """Sessions, each with its topics, on brokers that are all alike.

    Attributes
    ----------
    brokers
        Their number; where it matters who they are, names are kept beside.
    rates
        Of each topic, in bytes per `period_seconds`.
    wanted
        The topics of each session.
    places
        The broker of each session.
    users
        Whose session each is: two of one user never go to one broker.
    state_bytes
        What has to be copied to move each session.
    """

    brokers: int
    rates: Int64s
    wanted: Interests
    places: Int32s
    users: Int32s
    state_bytes: Int64s
    period_seconds: int = 1

    def __post_init__(self) -> None:
        freeze_arrays(
            *(self, "snapshot"),
            rates=np.int64,
            places=np.int32,
            users=np.int32,
            state_bytes=np.int64,
        )
        self._check_lengths()
        self._check_ranges()
        pairs = np.bincount(self.wanted.topics, minlength=len(self.rates))
        most = pairs + np.minimum(pairs, self.brokers)
        refuse_overflow("load", self.rates, most)

    @classmethod
    def of(
        cls,
        brokers: int,
        rates: Int64s,
        wanted: Interests,
        places: Int32s,
        period_seconds: int = 1,
    ) -> "Snapshot":
        """Every session is a user's only one, and has no state to copy."""
        count = wanted.subscribers
        return cls(
            brokers,
            rates,
            wanted,
            places,
            np.arange(count, dtype=np.int32),
            np.zeros(count, np.int64),
            period_seconds,
        )

    @property
    def sessions(self) -> int:
        return self.wanted.subscribers

    def loads(self, places: Int32s | None = None) -> Int64s:
        """Each broker's load by the load law, sessions as they are or elsewhere."""
        at = self.places if places is None else places
        topic, broker, pairs = self.runs(at)
        return broker_loads(self.rates, topic, broker, pairs, self.brokers)

    def runs(self, places: Int32s) -> tuple[Int32s, Int32s, Int64s]:
        """(topic, broker, pairs) of each topic on each broker that carries it."""
        owners = np.repeat(places.astype(np.int64), np.diff(self.wanted.offsets))
        keys = owners * len(self.rates) + self.wanted.topics
        found, pairs = np.unique(keys, return_counts=True)
        broker, topic = np.divmod(found, max(1, len(self.rates)))
        return topic.astype(np.int32), broker.astype(np.int32), pairs.astype(np.int64)

    def own_loads(self) -> Int64s:
        """What each session is sent: the rates of its topics, added up."""
        sums = np.concatenate(([0], np.cumsum(self.rates[self.wanted.topics])))
        found: Int64s = np.diff(sums[self.wanted.offsets]).astype(np.int64)
        return found

    def _check_lengths(self) -> None:
        for field in ("places", "users", "state_bytes"):
            found = len(getattr(self, field))
            if found != self.sessions:
                raise InputError(
                    f"{field} of snapshot: found {found:,} entries, expected "
                    f"{self.sessions:,}, one a session"
                )

    def _check_ranges(self) -> None:
        for field, values, limit in (
            ("places", self.places, self.brokers),
            ("topics", self.wanted.topics, len(self.rates)),
        ):
            if len(values) and not 0 <= values.min() <= values.max() < limit:
                raise InputError(
                    f"{field} of snapshot: found {values.min():,} to {values.max():,}, "
                    f"expected 0 to {limit - 1:,}"
                )
        for field in ("rates", "state_bytes"):
            values = getattr(self, field)
            if len(values) and values.min() < 0:
                raise InputError(
                    f"{field} of snapshot: found {values.min():,}, expected 0 or more"
                )

    def __repr__(self) -> str:
        return (
            f"Snapshot({self.brokers:,} brokers, {self.sessions:,} sessions, "
            f"{len(self.rates):,} topics)"
        )


def imbalance(loads: Int64s) -> float:
    """cov: the standard deviation of the loads over their mean; 0 without load."""
    values = [int(load) for load in loads]
    total = sum(values)
    if not total:
        return 0.0
    spread = len(values) * sum(load * load for load in values) - total * total
    return sqrt(spread) / total


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
