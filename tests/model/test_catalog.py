"""Broker types on offer, and the fleets made of them."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.catalog import (
    GIGABYTE_USD,
    Catalog,
    Offer,
    fleet_of,
    parse_broker,
)
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet

LARGE = Offer("c3.large", 0.15, "64Mbit/s")
XLARGE = Offer("c3.xlarge", 0.30, "128Mbit/s")
OWN = Offer("own", 0.0, "1000", count=3)
CATALOG = Catalog((LARGE, XLARGE, OWN))


def fleet(*names: str, **options: Any) -> Fleet:
    times: dict[str, Any] = {"period_seconds": 864_000, "message_bytes": 200}
    return fleet_of(CATALOG, names, **(times | options))


def test_bandwidth_becomes_messages_per_period() -> None:
    capacity = 64_000_000 // 8 * 864_000 // 200
    assert list(fleet("c3.large", "c3.xlarge")) == [
        BrokerType("c3.large", capacity, None, 0.15),
        BrokerType("c3.xlarge", 2 * capacity, None, 0.30),
    ]


def test_a_capacity_in_messages_does_not_depend_on_their_size() -> None:
    assert list(fleet("own", message_bytes=7)) == [BrokerType("own", 1000, 3, 0.0)]


def test_the_price_of_a_gigabyte_is_the_catalogs_unless_given() -> None:
    assert (
        fleet("own").gigabyte_usd == fleet("own").incoming_usd == GIGABYTE_USD == 0.12
    )
    given_out = fleet("own", gigabyte_usd=0.05)
    assert (given_out.gigabyte_usd, given_out.incoming_usd) == (0.05, 0.05)
    given_in = fleet("own", gigabyte_in_usd=0.0)
    assert (given_in.gigabyte_usd, given_in.incoming_usd) == (0.12, 0.0)


@given(
    st.integers(1, 10**15),
    st.decimals(1, 50, places=3),
    st.decimals(0, "0.999", places=3),
)
def test_what_a_plan_may_use_is_exact_to_the_last_message(
    capacity: int, peak: Any, headroom: Any
) -> None:
    catalog = Catalog((Offer("a", 1.0, str(capacity)),))
    # A message more than this would be over the limit, this many are not.
    usable = int(Fraction(capacity) * (1 - Fraction(headroom)) / Fraction(peak))
    options: dict[str, Any] = {
        "period_seconds": 1,
        "message_bytes": 1,
        "peak_to_mean": float(peak),
        "headroom": float(headroom),
    }
    if usable:
        assert fleet_of(catalog, ["a"], **options).largest_capacity == usable
    else:
        with pytest.raises(InputError, match="'a' can carry nothing"):
            fleet_of(catalog, ["a"], **options)


def test_a_tenth_kept_free_is_a_tenth_and_not_a_float_near_it() -> None:
    assert fleet("own", headroom=0.1).largest_capacity == 900
    assert fleet("own", peak_to_mean=1.1, headroom=0.01).largest_capacity == 900


@pytest.mark.parametrize("peak", [0.99, 0.0, -2.0, float("nan"), float("inf")])
def test_a_peak_below_the_mean_is_refused(peak: float) -> None:
    with pytest.raises(InputError, match=r"peak-to-mean: found .* from 1 up"):
        fleet("own", peak_to_mean=peak)


@pytest.mark.parametrize("headroom", [-0.1, 1.0, 20.0, float("nan")])
def test_headroom_outside_its_range_is_refused(headroom: float) -> None:
    with pytest.raises(InputError, match=r"headroom: found .* to below 1"):
        fleet("own", headroom=headroom)


def test_a_broker_that_could_carry_nothing_is_refused_with_the_numbers() -> None:
    with pytest.raises(InputError) as caught:
        fleet("own", peak_to_mean=800.0, headroom=0.5)
    assert caught.value.message == (
        "broker type 'own' can carry nothing: of 1,000 messages per period, "
        "peak-to-mean 800 and headroom 50% leave less than 1"
    )
    with pytest.raises(InputError, match=r"capacity of 'c3\.large': found 0"):
        fleet("c3.large", message_bytes=10**14)


def test_an_unknown_type_is_answered_with_similar_ones() -> None:
    with pytest.raises(InputError) as caught:
        fleet("C3.Larg")
    assert caught.value.message == "broker type 'C3.Larg' is not in the catalog"
    assert caught.value.hint == "Did you mean c3.large or c3.xlarge?"


def test_a_type_like_no_other_is_answered_with_what_there_is() -> None:
    many = Catalog(tuple(Offer(f"b{i:02}", 1.0, "5") for i in range(10)), name="f.csv")
    with pytest.raises(InputError, match=r"not in f\.csv") as caught:
        many.offer("zzz")
    assert (
        caught.value.hint == "It has b00, b01, b02, b03, b04, b05, b06, b07 and 2 more."
    )
    with pytest.raises(InputError) as caught:
        CATALOG.offer("zzz")
    assert caught.value.hint == "It has c3.large, c3.xlarge, own."


def test_commas_make_a_mix() -> None:
    assert parse_broker("c3.large") == ("c3.large",)
    assert parse_broker(" a, b ,c") == ("a", "b", "c")


@pytest.mark.parametrize("text", ["", " ", "a,", ",a", "a,,b"])
def test_a_mix_with_a_gap_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a type, or several"):
        parse_broker(text)


def test_a_type_twice_in_a_mix_is_refused() -> None:
    with pytest.raises(InputError, match="found 'a' twice in 'a,b,a'"):
        parse_broker("a,b,a")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "broker type: found ''"),
        ({"name": "a,b"}, "without white space, commas and slashes"),
        ({"name": "a/b"}, "without white space, commas and slashes"),
        ({"hour_usd": -1.0}, "hourly price of broker type 'a'"),
        ({"capacity": "0"}, "capacity of broker type 'a': found 0"),
        ({"capacity": "64Mbps"}, "capacity of broker type 'a': found '64Mbps'"),
        ({"count": 0}, "count of broker type 'a': found 0"),
    ],
)
def test_an_offer_that_makes_no_sense_is_refused(
    fields: dict[str, Any], message: str
) -> None:
    sound: dict[str, Any] = {"name": "a", "hour_usd": 1.0, "capacity": "5"}
    with pytest.raises(InputError, match=message):
        Offer(**(sound | fields))


def test_a_catalog_needs_types_with_names_of_their_own() -> None:
    with pytest.raises(InputError, match="the catalog: found no broker type"):
        Catalog(())
    with pytest.raises(InputError, match="broker type 'own' is there twice"):
        Catalog((OWN, LARGE, OWN))
    with pytest.raises(InputError, match="price of a gigabyte"):
        Catalog((OWN,), gigabyte_usd=-0.1)
