"""Fleets without a plan."""

import pytest

from brokerwise.model.errors import InputError
from brokerwise.runtime.seed import SeedBroker
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
