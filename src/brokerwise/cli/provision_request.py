"""What a call of `brokerwise provision` asks for."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.cli.places import refuse_wrong_places
from brokerwise.model.errors import InputError
from brokerwise.model.units import (
    checked_count,
    checked_price,
    parse_capacity,
    parse_share,
)

if TYPE_CHECKING:
    from brokerwise.model.catalog import Catalog
    from brokerwise.model.fleet import Fleet
    from brokerwise.pipeline.provision.job import Target
    from brokerwise.storage.workload import WorkloadHeader

# Its price holds for a capacity without one (Setty et al., ICDCS 2014).
_PAPER_TYPE = "c3.large"
# No leading zeros: 1,000 is a mistake, not the thresholds 1 and 0.
_WHOLE = re.compile(r"0|[1-9][0-9]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]")


@dataclass(frozen=True)
class FleetRequest:
    """Which brokers may be used: types of a catalog, or a capacity."""

    broker: tuple[str, ...]
    capacity: str | None
    broker_hour: float | None
    gigabyte: float | None
    gigabyte_in: float | None
    catalog: str | None
    peak_to_mean: float
    headroom: str

    def __post_init__(self) -> None:
        if bool(self.broker) == (self.capacity is not None):
            found = "both" if self.broker else "neither"
            raise InputError(
                f"found {found} of --broker and --capacity, expected one",
                hint="Such as --broker c3.large, or --capacity 64Mbit/s.",
            )
        if self.capacity is None and self.broker_hour is not None:
            raise InputError("--broker-hour goes with --capacity: types have a price")
        for price, field in (
            (self.broker_hour, "--broker-hour"),
            (self.gigabyte, "--gigabyte"),
            (self.gigabyte_in, "--gigabyte-in"),
        ):
            if price is not None:
                checked_price(price, field)

    @property
    def assumes_prices(self) -> bool:
        """Whether a capacity has to do with prices that nobody gave."""
        return self.capacity is not None and None in (self.broker_hour, self.gigabyte)

    def fleets(self, header: "WorkloadHeader") -> "list[Fleet]":
        """The fleets to plan with, one for each `--broker`."""
        from brokerwise.model.catalog import fleet_of, parse_broker

        catalog = self._catalog(header)
        rows = [parse_broker(text) for text in self.broker]
        for row in rows:
            if rows.count(row) > 1:
                raise InputError(f"--broker: found {','.join(row)!r} twice")
        return [
            fleet_of(
                catalog,
                row,
                period_seconds=header.period_seconds,
                message_bytes=header.message_bytes,
                peak_to_mean=self.peak_to_mean,
                headroom=parse_share(self.headroom, "--headroom"),
                gigabyte_usd=self.gigabyte,
                gigabyte_in_usd=self.gigabyte_in,
            )
            for row in rows or [tuple(offer.name for offer in catalog)]
        ]

    def _catalog(self, header: "WorkloadHeader") -> "Catalog":
        from brokerwise.model.catalog import Catalog, Offer
        from brokerwise.storage.catalog import read_catalog, shipped_catalog
        from brokerwise.storage.place import Place

        if self.capacity is None:
            return (
                read_catalog(Place(self.catalog))
                if self.catalog
                else (shipped_catalog())
            )
        if self.catalog is not None:
            raise InputError("--catalog goes with --broker, not with --capacity")
        capacity = parse_capacity(
            self.capacity, header.period_seconds, header.message_bytes, "--capacity"
        )
        hour_usd = self.broker_hour
        if hour_usd is None:
            hour_usd = shipped_catalog().offer(_PAPER_TYPE).hour_usd
        return Catalog((Offer(f"broker-{capacity}", hour_usd, str(capacity)),))


@dataclass(frozen=True)
class Request:
    """All that changes what is done, but for how it is computed."""

    workload: str
    thresholds: tuple[int, ...]
    fleet: FleetRequest
    budget: float | None
    previous: str | None
    max_moves: int | None
    out: str
    force: bool
    report: Path | None

    def __post_init__(self) -> None:
        if self.budget is not None:
            checked_price(self.budget, "--budget")
        if self.max_moves is not None and self.previous is None:
            raise InputError("--max-moves goes with --from PLAN")
        if self.previous is not None and self._several:
            raise InputError(
                "--from goes with one threshold and one --broker: "
                "there is one plan to begin with"
            )
        refuse_wrong_places(self.workload, self.out, self.report)

    @property
    def _several(self) -> bool:
        return len(self.thresholds) > 1 or len(self.fleet.broker) > 1

    def targets(self, header: "WorkloadHeader") -> "list[Target]":
        """The plans to make: thresholds, and for each all fleets."""
        from brokerwise.pipeline.provision.job import Target
        from brokerwise.storage.place import Place

        out = Place(self.out)
        fleets = self.fleet.fleets(header)
        if not self._several:
            return [Target(self.thresholds[0], fleets[0], out)]
        if (out / "plan.json").exists():
            raise InputError(
                f"{out} is a plan, expected a directory for several; "
                "nothing was written",
                hint="Choose another --out.",
            )
        names = _folders(fleets)
        return [
            Target(threshold, fleet, out / f"{threshold}-{name}")
            for threshold in self.thresholds
            for fleet, name in zip(fleets, names, strict=True)
        ]

    def remove_empty_folder(self) -> None:
        """Leave nothing behind where several plans were to be, and none is."""
        from brokerwise.storage.place import Place

        local = Place(self.out).local
        if self._several and local is not None:
            with suppress(OSError):
                local.rmdir()


def parse_thresholds(text: str) -> tuple[int, ...]:
    """`100`, or several such as `10,100,1000`."""
    found = [part.strip() for part in text.split(",")]
    for part in found:
        if not _WHOLE.fullmatch(part):
            raise InputError(
                f"--threshold: found {part!r}, expected a whole number from 0 up, "
                "or several such as 10,100,1000"
            )
        if found.count(part) > 1:
            raise InputError(f"--threshold: found {part} twice")
    return tuple(checked_count(int(part), "--threshold") for part in found)


def _folders(fleets: "Sequence[Fleet]") -> list[str]:
    """A name for each fleet, of letters that any file system takes."""
    names: list[str] = []
    for fleet in fleets:
        name = _UNSAFE.sub("-", "+".join(kind.name for kind in fleet))
        again = sum(other == name for other in names)
        names.append(f"{name}-{again + 1}" if again else name)
    return names
