"""What may carry a workload: broker types with capacity, price and count."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count


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
        checked_count(self.capacity, f"capacity of broker type {self.name!r}", least=1)
        if self.count is not None:
            checked_count(self.count, f"count of broker type {self.name!r}", least=1)
        if not (isfinite(self.hour_usd) and self.hour_usd >= 0):
            raise InputError(
                f"price of broker type {self.name!r}: found {self.hour_usd}, "
                "expected zero or more dollars per hour"
            )


@dataclass(frozen=True)
class Fleet:
    """Broker types that a plan may use, and the price of a gigabyte in or out."""

    broker_types: tuple[BrokerType, ...]
    gigabyte_usd: float = 0.0

    def __post_init__(self) -> None:
        if not self.broker_types:
            raise InputError("fleet: found no broker type, expected at least one")
        names = [t.name for t in self.broker_types]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"fleet: broker type {name!r} is there twice")
        if not (isfinite(self.gigabyte_usd) and self.gigabyte_usd >= 0):
            raise InputError(
                f"price of a gigabyte: found {self.gigabyte_usd}, "
                "expected zero or more dollars"
            )

    @classmethod
    def of(cls, count: int, capacity: int) -> "Fleet":
        """So many equal brokers, without a price."""
        return cls((BrokerType(f"broker-{capacity}", capacity, count),))

    @classmethod
    def types(cls, *types: BrokerType, gigabyte_usd: float = 0.0) -> "Fleet":
        return cls(types, gigabyte_usd)

    @property
    def largest_capacity(self) -> int:
        return max(t.capacity for t in self.broker_types)

    def type_named(self, name: str) -> BrokerType | None:
        return next((t for t in self.broker_types if t.name == name), None)

    def __iter__(self) -> Iterator[BrokerType]:
        return iter(self.broker_types)
