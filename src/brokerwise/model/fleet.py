"""What may carry a workload: broker types with capacity, price and count; and what a
plan costs over one period of its workload.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brokerwise.model.errors import InputError
from brokerwise.model.units import (
    HOURS_PER_MONTH,
    checked_count,
    checked_price,
    gigabytes,
    hours,
)


@dataclass(frozen=True)
class BrokerType:
    """One kind of broker. `capacity` is load per period; `count` None is unlimited."""

    name: str
    capacity: int
    count: int | None = None
    hour_usd: float = 0.0

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("broker type: found an empty name")
        of = f"of broker type {self.name!r}"
        capacity = checked_count(self.capacity, f"capacity {of}", least=1)
        hour_usd = checked_price(self.hour_usd, f"hourly price {of}")
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "hour_usd", hour_usd)
        if self.count is not None:
            count = checked_count(self.count, f"count {of}", least=1)
            object.__setattr__(self, "count", count)


@dataclass(frozen=True)
class Fleet:
    """Broker types that a plan may use, and the price of a gigabyte.

    `gigabyte_usd` is for what brokers send, and for what they receive unless
    `gigabyte_in_usd` says otherwise.
    """

    broker_types: tuple[BrokerType, ...]
    gigabyte_usd: float = 0.0
    gigabyte_in_usd: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "broker_types", tuple(self.broker_types))
        if not self.broker_types:
            raise InputError("fleet: found no broker type, expected at least one")
        names = [t.name for t in self.broker_types]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"fleet: broker type {name!r} is there twice")
        gigabyte_usd = checked_price(self.gigabyte_usd, "price of a gigabyte")
        object.__setattr__(self, "gigabyte_usd", gigabyte_usd)
        if self.gigabyte_in_usd is not None:
            incoming = checked_price(self.gigabyte_in_usd, "price of a gigabyte in")
            object.__setattr__(self, "gigabyte_in_usd", incoming)

    @classmethod
    def of(cls, count: int, capacity: int) -> "Fleet":
        """So many equal brokers, without a price."""
        return cls((BrokerType(f"broker-{capacity}", capacity, count),))

    @classmethod
    def types(
        cls,
        *types: BrokerType,
        gigabyte_usd: float = 0.0,
        gigabyte_in_usd: float | None = None,
    ) -> "Fleet":
        return cls(types, gigabyte_usd, gigabyte_in_usd)

    @property
    def incoming_usd(self) -> float:
        """The price of a gigabyte that brokers receive."""
        if self.gigabyte_in_usd is None:
            return self.gigabyte_usd
        return self.gigabyte_in_usd

    @property
    def largest_capacity(self) -> int:
        return max(t.capacity for t in self.broker_types)

    def type_named(self, name: str) -> BrokerType | None:
        return next((t for t in self.broker_types if t.name == name), None)

    def __iter__(self) -> Iterator[BrokerType]:
        return iter(self.broker_types)


@dataclass(frozen=True)
class Bandwidth:
    """Bandwidth that is booked in all, to be split over brokers of any size up to
    `max_broker`; both are load per period."""

    total: int
    max_broker: int

    def __post_init__(self) -> None:
        for field in ("total", "max_broker"):
            what = f"{field} of bandwidth"
            object.__setattr__(
                self, field, checked_count(getattr(self, field), what, least=1)
            )


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
