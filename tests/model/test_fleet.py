"""Broker types and fleets."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet


def test_a_fleet_of_equal_brokers_has_one_type_without_a_price() -> None:
    fleet = Fleet.of(10, 500)
    assert list(fleet) == [BrokerType("broker-500", 500, 10, 0.0)]
    assert fleet.largest_capacity == 500
    assert fleet.gigabyte_usd == 0.0


def test_a_fleet_of_types_finds_them_by_name() -> None:
    small, large = BrokerType("small", 10), BrokerType("large", 40, 2, 0.3)
    fleet = Fleet.types(small, large, gigabyte_usd=0.12)
    assert fleet.type_named("large") is large
    assert fleet.type_named("huge") is None
    assert fleet.largest_capacity == 40
    assert small.count is None
    assert fleet == Fleet((small, large), 0.12)


def test_a_fleet_from_numpy_numbers_can_be_written_as_json() -> None:
    count: Any = np.int64(3)
    capacity: Any = np.int32(500)
    price: Any = np.float32(0.5)
    fleet = Fleet([BrokerType("b", capacity, count, price)], price)  # type: ignore[arg-type]
    assert json.loads(json.dumps(asdict(fleet))) == {
        "broker_types": [{"name": "b", "capacity": 500, "count": 3, "hour_usd": 0.5}],
        "gigabyte_usd": 0.5,
        "gigabyte_in_usd": None,
    }
    assert hash(fleet) == hash(Fleet((BrokerType("b", 500, 3, 0.5),), 0.5))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": ""}, "broker type: found an empty name"),
        ({"capacity": 0}, "capacity of broker type 'b': found 0, expected a whole"),
        ({"capacity": -5}, "capacity of broker type 'b': found -5, expected a whole"),
        (
            {"capacity": 2.5},
            r"capacity of broker type 'b': found 2\.5, expected a whole",
        ),
        ({"count": 0}, "count of broker type 'b': found 0, expected a whole number"),
        ({"count": True}, "count of broker type 'b': found True, expected a whole"),
        ({"hour_usd": -0.1}, r"hourly price of broker type 'b': found -0\.1, expected"),
        ({"hour_usd": float("nan")}, "hourly price of broker type 'b': found nan"),
    ],
)
def test_a_bad_broker_type_is_refused_by_field(fields: Any, text: str) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        BrokerType(**{"name": "b", "capacity": 1} | fields)


def test_a_fleet_without_types_is_refused() -> None:
    with pytest.raises(InputError, match="fleet: found no broker type"):
        Fleet.types()


def test_two_types_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="fleet: broker type 'b' is there twice"):
        Fleet.types(BrokerType("a", 1), BrokerType("b", 1), BrokerType("b", 2))


def test_a_negative_price_of_traffic_is_refused() -> None:
    with pytest.raises(
        InputError, match="price of a gigabyte: found -1, expected zero"
    ):
        Fleet.types(BrokerType("a", 1), gigabyte_usd=-1)


def test_what_brokers_receive_may_have_a_price_of_its_own() -> None:
    one = BrokerType("a", 1)
    assert Fleet.types(one, gigabyte_usd=0.1).incoming_usd == 0.1
    assert Fleet.types(one, gigabyte_usd=0.1, gigabyte_in_usd=0).incoming_usd == 0.0
    with pytest.raises(InputError, match="price of a gigabyte in: found -1"):
        Fleet.types(one, gigabyte_in_usd=-1)


def test_repr_shows_what_it_is_made_of() -> None:
    assert repr(Fleet.of(2, 7)) == (
        "Fleet(broker_types=(BrokerType(name='broker-7', capacity=7, count=2, "
        "hour_usd=0.0),), gigabyte_usd=0.0, gigabyte_in_usd=None)"
    )


def test_bandwidth_to_split_is_whole_numbers() -> None:
    total: Any = np.int64(100)
    booked = Bandwidth(total, 45)
    assert booked == Bandwidth(100, 45)
    assert type(booked.total) is int


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"total": 0}, "total of bandwidth: found 0, expected a whole number from 1"),
        ({"total": -5}, "total of bandwidth: found -5, expected a whole number"),
        ({"max_broker": 0}, "max_broker of bandwidth: found 0, expected a whole"),
        ({"max_broker": 1.5}, r"max_broker of bandwidth: found 1\.5, expected a whole"),
        ({"max_broker": None}, "max_broker of bandwidth: found None, expected a whole"),
    ],
)
def test_bandwidth_that_cannot_be_is_refused_by_field(fields: Any, text: str) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        Bandwidth(**{"total": 10, "max_broker": 5} | fields)
