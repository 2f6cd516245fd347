"""The balancer's events and commands.

Sessions and brokers are named by anything that can be a key of a dictionary. Times
are seconds from any beginning, the same for all events.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from brokerwise.model.arrays import Bools
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Rebalancing, Snapshot
from brokerwise.planners.balance.problem import Problem

Key: TypeAlias = Hashable


@dataclass(frozen=True, eq=False)
class LoadReported:
    """The fleet as it was at `measured`, which became known at `heard`.

    Attributes
    ----------
    keys
        The key of each session of the snapshot.
    open, closing
        Of each broker, as in `Problem`.
    brokers
        The key of each broker; None: its number in the snapshot.
    held
        Sessions that must stay, whatever the balancer knows; None: none.
    """

    heard: float
    measured: float
    snapshot: Snapshot
    keys: Sequence[Key]
    open: Bools
    closing: Bools
    brokers: Sequence[Key] | None = None
    held: Bools | None = None

    def __post_init__(self) -> None:
        snapshot = self.snapshot
        for field, found, expected in (
            ("keys", self.keys, snapshot.sessions),
            ("brokers", self.names, snapshot.brokers),
        ):
            if len(found) != expected:
                raise InputError(
                    f"{field}: found {len(found):,} entries, expected {expected:,}"
                )
        if self.measured > self.heard:
            raise InputError(
                f"measured: found {self.measured!r}, expected no later than it was "
                f"heard, at {self.heard!r}"
            )

    @classmethod
    def at(
        cls, time: float, snapshot: Snapshot, keys: Sequence[Key] | None = None
    ) -> "LoadReported":
        """Heard as soon as measured, with every broker open to all sessions."""
        return cls(
            time,
            time,
            snapshot,
            range(snapshot.sessions) if keys is None else keys,
            np.ones(snapshot.brokers, np.bool_),
            np.zeros(snapshot.brokers, np.bool_),
        )

    @property
    def names(self) -> Sequence[Key]:
        """The key of each broker."""
        return range(self.snapshot.brokers) if self.brokers is None else self.brokers


@dataclass(frozen=True)
class MoveOrdered:
    """A move that this balancer did not order: an operator did, or the balancer of an
    earlier process. The balancer waits for its end."""

    at: float
    key: Key


@dataclass(frozen=True)
class MoveEnded:
    """A session is at a broker now; `broker` None: it did not move, or has gone."""

    at: float
    key: Key
    broker: Key | None


@dataclass(frozen=True)
class Paused:
    at: float


@dataclass(frozen=True)
class Resumed:
    at: float


Event = LoadReported | MoveOrdered | MoveEnded | Paused | Resumed


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the balancer concluded, and why: moves, or what keeps it from any.

    Attributes
    ----------
    number
        1, 2, ... in the order of time; 0 for a dry run.
    rebalancing
        What the planner answered, in numbers of the report that was decided on; None
        where it was not asked.
    moves
        (session, from, to) by name, in the order of the report.
    """

    number: int
    at: float
    policy: str
    rebalancing: Rebalancing | None
    moves: tuple[tuple[Key, Key, Key], ...]
    reason: str


@dataclass(frozen=True, eq=False)
class Rebalance:
    """Carry out the moves of a verdict; each has to be answered with `MoveEnded`.

    `problem` is what was decided on: the report, as corrected by moves since, and
    the sessions that had to stay.
    """

    verdict: Verdict
    problem: Problem


Command = Rebalance
