"""What the balancer proposes: exactly this is approved, or nothing."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import msgspec
import numpy as np

from brokerwise.model.snapshot import imbalance


@dataclass(frozen=True)
class PlannedMove:
    """A user's session on a broker goes to another; so many bytes are to be copied."""

    user: str
    source: str
    target: str
    state_bytes: int = 0


@dataclass(frozen=True)
class BrokerChange:
    """A broker and its load, in bytes a period; one that is to be started has no epoch
    yet, and one that is to be ended is `closing`."""

    broker: str
    epoch: int
    before: int
    after: int
    closing: bool = False

    @property
    def is_new(self) -> bool:
        return not self.epoch


@dataclass(frozen=True)
class Proposal:
    """Moves, with what they make of the loads.

    `bound`: no placement has a lower maximum load. `moves_before` is the number of the
    last move when it was made. With a `broker_hour` the price of a fleet is known.
    """

    policy: str
    brokers: tuple[BrokerChange, ...]
    moves: tuple[PlannedMove, ...]
    bound: int
    moves_before: int
    period_seconds: int
    capacity: float | None = None
    broker_hour: float | None = None

    @property
    def kind(self) -> str:
        if any(broker.is_new for broker in self.brokers):
            return "scale-out"
        return "scale-in" if self.closing else "moves"

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(b.broker for b in self.brokers if b.is_new)

    @property
    def closing(self) -> tuple[str, ...]:
        return tuple(b.broker for b in self.brokers if b.closing)

    @property
    def is_empty(self) -> bool:
        return not (self.moves or self.added or self.closing)

    @property
    def state_bytes(self) -> int:
        return sum(move.state_bytes for move in self.moves)

    @property
    def cov_before(self) -> float:
        return _cov([b.before for b in self.brokers if not b.is_new])

    @property
    def cov_after(self) -> float:
        return _cov([b.after for b in self.brokers if not b.closing])

    @cached_property
    def digest(self) -> str:
        """Of all that an approval is given for: which brokers, at which epochs and
        with which loads, and which moves, in which order."""
        content = {
            "brokers": [(b.broker, b.epoch, b.before, b.closing) for b in self.brokers],
            "moves": [(m.user, m.source, m.target) for m in self.moves],
            "moves_before": self.moves_before,
        }
        return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def _cov(loads: list[int]) -> float:
    return imbalance(np.array(loads, np.int64))
