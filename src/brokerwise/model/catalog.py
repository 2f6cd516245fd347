"""Broker types as they are sold, and the fleets that a plan may use of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.units import checked_count, checked_price, parse_capacity

# The price of a gigabyte, in or out, in Setty et al. (ICDCS 2014).
GIGABYTE_USD = 0.12

# Names are listed with commas on the command line and become directory names.
_NAME = re.compile(r"[^\s,/\\]+")
_LISTED = 8


@dataclass(frozen=True)
class Offer:
    """One broker type on offer, before a workload says what its bandwidth carries.

    `capacity` is a bandwidth such as `64Mbit/s`, or messages per period; `count`
    None is unlimited.
    """

    name: str
    hour_usd: float
    capacity: str
    count: int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        checked_type_name(self.name, "broker type")
        of = f"of broker type {self.name!r}"
        parse_capacity(self.capacity, 8, 1, f"capacity {of}")
        hour_usd = checked_price(self.hour_usd, f"hourly price {of}")
        object.__setattr__(self, "hour_usd", hour_usd)
        if self.count is not None:
            checked_count(self.count, f"count {of}", least=1)


@dataclass(frozen=True)
class Catalog:
    """What can be rented, and the price of a gigabyte. `name` is for messages."""

    offers: tuple[Offer, ...]
    gigabyte_usd: float = GIGABYTE_USD
    name: str = "the catalog"

    def __post_init__(self) -> None:
        object.__setattr__(self, "offers", tuple(self.offers))
        if not self.offers:
            raise InputError(f"{self.name}: found no broker type, expected at least 1")
        if len({offer.name for offer in self.offers}) < len(self.offers):
            names = [offer.name for offer in self.offers]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{self.name}: broker type {twice!r} is there twice")
        gigabyte_usd = checked_price(self.gigabyte_usd, "price of a gigabyte")
        object.__setattr__(self, "gigabyte_usd", gigabyte_usd)

    def offer(self, name: str) -> Offer:
        """The type of this name; an error that lists similar ones if there is none."""
        found = next((offer for offer in self.offers if offer.name == name), None)
        if found is None:
            raise InputError(
                f"broker type {name!r} is not in {self.name}", hint=self._advice(name)
            )
        return found

    def _advice(self, name: str) -> str:
        names = {offer.name.casefold(): offer.name for offer in self.offers}
        close = get_close_matches(name.casefold(), names, n=3)
        if close:
            return f"Did you mean {' or '.join(names[key] for key in close)}?"
        listed = [offer.name for offer in self.offers[:_LISTED]]
        more = len(self.offers) - len(listed)
        rest = f" and {more:,} more" if more else ""
        return f"It has {', '.join(listed)}{rest}."

    def __iter__(self) -> Iterator[Offer]:
        return iter(self.offers)


def checked_type_name(name: str, field: str) -> str:
    """The name, if it can stand in a list of types and be part of a path."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{field}: found {name!r}, expected a name without white space, "
            "commas and slashes"
        )
    return name


def parse_broker(text: str) -> tuple[str, ...]:
    """The names in `a,b,c`, which together make one mixed fleet."""
    names = tuple(name.strip() for name in text.split(","))
    if "" in names:
        raise InputError(
            f"broker: found {text!r}, expected a type, or several with commas between"
        )
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"broker: found {name!r} twice in {text!r}")
    return names


def fleet_of(
    catalog: Catalog,
    names: Sequence[str],
    *,
    period_seconds: int,
    message_bytes: int,
    peak_to_mean: float = 1.0,
    headroom: float = 0.0,
    gigabyte_usd: float | None = None,
    gigabyte_in_usd: float | None = None,
) -> Fleet:
    """The named types as brokers for workloads of this period and message size.

    A plan may fill each to floor(capacity * (1 - headroom) / peak_to_mean): loads
    are means over the period, so that much leaves room for its peak, and for the
    share that is to stay free. Computed exactly; a broker left with nothing is an
    error. Without `gigabyte_usd` the catalog's price holds, in and out.
    """
    share = usable_share(peak_to_mean, headroom)

    def broker_type(name: str) -> BrokerType:
        offer = catalog.offer(name)
        whole = parse_capacity(
            offer.capacity, period_seconds, message_bytes, f"capacity of {name!r}"
        )
        usable = int(whole * share)
        if usable < 1:
            raise InputError(
                f"broker type {name!r} can carry nothing: of {whole:,} messages per "
                f"period, peak-to-mean {peak_to_mean:g} and headroom "
                f"{100 * headroom:.10g}% leave less than 1"
            )
        return BrokerType(name, usable, offer.count, offer.hour_usd)

    return Fleet.types(
        *(broker_type(name) for name in names),
        gigabyte_usd=catalog.gigabyte_usd if gigabyte_usd is None else gigabyte_usd,
        gigabyte_in_usd=gigabyte_in_usd,
    )


def usable_share(peak_to_mean: float, headroom: float) -> Fraction:
    """The share of a broker's capacity that mean load may take.

    Floats count as the decimals they print as: 0.1 is a tenth.
    """
    if not (isfinite(peak_to_mean) and peak_to_mean >= 1):
        raise InputError(
            f"peak-to-mean: found {peak_to_mean!r}, expected a number from 1 up"
        )
    if not 0 <= headroom < 1:
        raise InputError(
            f"headroom: found {headroom:.10g} ({100 * headroom:.10g}%), expected "
            "a share from 0 to below 1 (100%)"
        )
    return (1 - Fraction(str(headroom))) / Fraction(str(peak_to_mean))
