"""What there is to fill, and how much work a search may do."""

import numpy as np
from tests.planners.fill.stopping import After

from brokerwise.planners.control import never
from brokerwise.planners.fill.columns.supply import Effort, Pattern, Supply


def test_it_is_over_once_it_is_spent() -> None:
    effort = Effort(10, never)
    effort.spend(9)
    assert not effort.over
    effort.spend(1)
    assert effort.over
    assert not effort.stopped


def test_a_stop_ends_it_for_good() -> None:
    effort = Effort(10, After(1))
    assert not effort.over
    assert effort.over
    assert effort.stopped
    assert effort.over


RATES = np.array([2, 3, 5])


def pattern(size: int, **pairs: int) -> Pattern:
    topics = sorted((int(name[1:]) for name in pairs), reverse=True)
    return Pattern(size, np.array(topics), np.array([pairs[f"t{t}"] for t in topics]))


def test_a_pattern_loads_its_broker_by_the_load_law() -> None:
    found = pattern(0, t0=3, t2=1)
    assert found.load(RATES) == 2 * 4 + 5 * 2
    assert list(found.entries()) == [(2, 1), (0, 3)]
    assert found.key != pattern(1, t0=3, t2=1).key
    assert found.key == pattern(0, t2=1, t0=3).key


def test_a_pattern_keeps_what_is_still_to_be_had() -> None:
    found = pattern(0, t0=3, t1=2, t2=1).within(np.array([1, 0, 4]))
    assert list(found.entries()) == [(2, 1), (0, 1)]


def test_brokers_are_used_up_by_size() -> None:
    supply = Supply(np.array([20, 9]), np.array([2, 1]))
    assert supply.brokers.tolist() == [0, 0, 1]
    assert supply.use(pattern(1, t0=1), RATES) == 1
    left = supply.without([pattern(0, t0=1), pattern(1, t0=1)], RATES)
    assert left.resources.tolist() == [1, 0]
    assert not left.empty
    assert left.without([pattern(0, t0=1)], RATES).empty
    assert supply.without([], RATES).resources.tolist() == [2, 1]
    assert supply.one_of_each().resources.tolist() == [1, 1]
    assert supply.resource(pattern(1, t0=1)) == 1


def test_bandwidth_is_used_up_by_load() -> None:
    supply = Supply(np.array([20]), np.zeros(1, np.int64), bandwidth=31)
    assert supply.use(pattern(0, t0=1), RATES) == 4
    left = supply.without([pattern(0, t2=2), pattern(0, t2=2)], RATES)
    assert left.resources.tolist() == [1]
    assert left.empty
    assert not supply.empty
    assert supply.one_of_each().bandwidth == 20
    assert left.one_of_each().bandwidth == 1
    assert supply.resource(pattern(0, t0=1)) == 0
