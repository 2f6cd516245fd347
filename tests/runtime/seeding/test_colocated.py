"""From a co-location plan to the seed of a fleet."""

import numpy as np
import pytest

from brokerwise.model.colocation import ColocationPlan, Replicas
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.model.topic_table import TopicTable
from brokerwise.runtime.seeding.colocated import colocated_seed, replica_names


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
    seed = colocated_seed(plan((0, 0, 1, 0.5), (1, 0, 0, 0.5)), topics("gps", "art"))
    assert [broker.name for broker in seed.brokers] == ["b0", "b1"]
    assert (seed.kind, seed.placement) == ("colocate", "plan")
    assert seed.homes == {"gps": "b1", "art": "b0"}
    assert seed.steps == {"gps": "spin:2.5", "art": "spin:5"}
    assert seed.targets == {"gps": 250.0, "art": 250.0}
    assert seed.rates == {"gps": 1800, "art": 1800}
    assert seed.period_seconds == 3600


def test_the_replicas_of_a_topic_that_was_split_are_topics() -> None:
    cut = plan((0, 0, 0, 0.3), (0, 1, 1, 0.2), (1, 0, 1, 0.5))
    seed = colocated_seed(cut, topics("gps", "art"))
    assert seed.homes == {"gps~1": "b0", "gps~2": "b1", "art": "b1"}
    assert seed.rates == {"gps~1": 1080, "gps~2": 720, "art": 1800}


def test_a_topic_that_is_called_like_a_replica_is_refused() -> None:
    cut = plan((0, 0, 0, 0.3), (0, 1, 1, 0.2), (1, 0, 1, 0.5))
    with pytest.raises(InputError, match="'gps~2' cannot run in a fleet"):
        replica_names(cut, topics("gps", "gps~2"))
