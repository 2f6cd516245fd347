"""Fleets without a plan."""

import numpy as np
import pytest

from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.runtime.fleet.seeds import colocation_seed, replica_names, seed_of_count
from brokerwise.runtime.protocol.seed import SeedBroker


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


def topics(*names: str) -> TopicTable:
    count = len(names)
    return TopicTable(
        Names.of(names),
        np.arange(1.0, count + 1) * 2.5,
        np.full(count, 0.5),
        np.full(count, 250.0),
    )


def plan(*replicas: tuple[int, int, int, float]) -> ColocationPlan:
    topic, number, broker, rate = map(np.array, zip(*replicas, strict=True))
    where = Replicas(topic, number, broker, rate, np.ones(len(topic)))
    count = where.brokers
    return ColocationPlan("ffd", Status.FEASIBLE, count, 1, where, k=2, margin=0.1)


def test_every_topic_is_at_home_with_its_step_and_target() -> None:
    seed = colocation_seed(plan((0, 0, 1, 0.5), (1, 0, 0, 0.5)), topics("gps", "art"))
    assert [broker.name for broker in seed.brokers] == ["b0", "b1"]
    assert (seed.kind, seed.placement) == ("colocate", "plan")
    assert seed.homes == {"gps": "b1", "art": "b0"}
    assert seed.steps == {"gps": "spin:2.5", "art": "spin:5"}
    assert seed.targets == {"gps": 250.0, "art": 250.0}
    assert seed.rates == {"gps": 1800, "art": 1800}
    assert seed.period_seconds == 3600


def test_the_replicas_of_a_topic_that_was_split_are_topics() -> None:
    cut = plan((0, 0, 0, 0.3), (0, 1, 1, 0.2), (1, 0, 1, 0.5))
    seed = colocation_seed(cut, topics("gps", "art"))
    assert seed.homes == {"gps~1": "b0", "gps~2": "b1", "art": "b1"}
    assert seed.rates == {"gps~1": 1080, "gps~2": 720, "art": 1800}


def test_a_topic_that_is_called_like_a_replica_is_refused() -> None:
    cut = plan((0, 0, 0, 0.3), (0, 1, 1, 0.2), (1, 0, 1, 0.5))
    with pytest.raises(InputError, match="'gps~2' cannot run in a fleet"):
        replica_names(cut, topics("gps", "gps~2"))
