"""What a plan costs over one period of its workload."""

from collections.abc import Sequence
from dataclasses import dataclass

from brokerwise.model.fleet import Fleet
from brokerwise.model.units import HOURS_PER_MONTH, gigabytes, hours


@dataclass(frozen=True)
class Cost:
    """Dollars for one period."""

    brokers: float
    bandwidth: float

    @property
    def total(self) -> float:
        return self.brokers + self.bandwidth


@dataclass(frozen=True)
class Prices:
    """A fleet's prices in the units of a workload.

    Attributes
    ----------
    brokers
        Dollars for one broker of each type, over a period.
    incoming, outgoing
        Dollars for one unit of load that a broker receives, or sends.
    """

    brokers: tuple[float, ...]
    incoming: float
    outgoing: float

    @classmethod
    def of(cls, fleet: Fleet, period_seconds: int, message_bytes: int) -> "Prices":
        unit = gigabytes(1, message_bytes)
        return cls(
            tuple(t.hour_usd * hours(period_seconds) for t in fleet),
            fleet.incoming_usd * unit,
            fleet.gigabyte_usd * unit,
        )

    def cost(self, brokers: Sequence[int], incoming: int, outgoing: int) -> Cost:
        """The cost of so many brokers of each type that receive and send so much."""
        rent = sum(n * usd for n, usd in zip(brokers, self.brokers, strict=True))
        return Cost(rent, incoming * self.incoming + outgoing * self.outgoing)


def per_month(usd: float, period_seconds: int) -> float:
    """What a cost for one period comes to in a month of 730 hours."""
    return usd * HOURS_PER_MONTH / hours(period_seconds)
