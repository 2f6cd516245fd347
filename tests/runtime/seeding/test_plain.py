"""Fleets without a plan."""

import pytest

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.seed import SeedBroker
from brokerwise.runtime.seeding.plain import seed_of_count


def test_brokers_are_numbered_and_nothing_is_planned() -> None:
    seed = seed_of_count(3, "random", {"news": "spin:5"})
    assert seed.brokers == (SeedBroker("b0"), SeedBroker("b1"), SeedBroker("b2"))
    assert seed.placement == "random"
    assert seed.steps == {"news": "spin:5"}
    assert (seed.kind, seed.sessions, seed.rates) == ("", (), {})


def test_a_fleet_needs_a_broker() -> None:
    with pytest.raises(InputError, match="brokers: found 0, expected at least 1"):
        seed_of_count(0)


def test_a_placement_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="'best', expected nearest, round-robin"):
        seed_of_count(2, "best")


def test_brokers_are_where_they_are_said_to_be() -> None:
    seed = seed_of_count(2, "nearest", places=[(1.0, 2.0), (-3.5, 0.0)])
    assert seed.brokers == (
        SeedBroker("b0", x=1.0, y=2.0),
        SeedBroker("b1", x=-3.5, y=0.0),
    )


def test_places_of_some_brokers_only_are_refused() -> None:
    with pytest.raises(InputError, match="places: found 1, expected 3, one a broker"):
        seed_of_count(3, "nearest", places=[(1.0, 2.0)])
