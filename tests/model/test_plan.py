"""The answer to a planning question."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status, gap


@pytest.fixture
def two_brokers() -> Plan:
    """Two pairs of topic 0, rate 10: one on each broker."""
    return Plan(
        kind="provision",
        algorithm="whole",
        status=Status.FEASIBLE,
        objective=2,
        bound=1.5,
        fleet=Fleet.of(3, 25),
        brokers=Brokers(np.zeros(2, np.int32), np.array([25, 25]), np.array([20, 20])),
        selection=Interests(np.array([0, 1, 2]), np.zeros(2, np.int32)),
        placement=Placement(
            np.zeros(2, np.int32), np.arange(2, dtype=np.int32), np.ones(2, np.int64)
        ),
    )


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [
        (0, 0, 0.0),
        (0.0, -0.0, 0.0),
        (4, 4, 0.0),
        (4, 3, 0.25),
        (4, 5, 0.25),
        (-4, -5, 0.25),
        (0, 5, inf),
        (None, 5, None),
        (5, None, None),
        (None, None, None),
    ],
)
def test_the_gap_is_a_share_of_the_objective(
    objective: float | None, bound: float | None, expected: float | None
) -> None:
    assert gap(objective, bound) == expected


def test_a_plan_knows_its_gap_and_load(two_brokers: Plan) -> None:
    assert two_brokers.gap == 0.25
    assert two_brokers.load == 40
    assert len(two_brokers.brokers) == 2
    assert type(two_brokers.objective) is float


def test_an_infeasible_plan_has_no_objective_bound_or_gap(two_brokers: Plan) -> None:
    none = replace(
        two_brokers, status=Status.INFEASIBLE, objective=None, bound=None, threshold=5
    )
    assert none.gap is None
    assert repr(none) == "Plan(provision by whole: infeasible, 2 brokers, 2 pairs)"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"objective": None}, "objective of a plan that is feasible: found None"),
        (
            {"bound": None},
            "bound of a plan that is feasible: found None, expected a nu",
        ),
        ({"objective": nan}, "objective of a plan that is feasible: found nan"),
        ({"bound": -inf}, "bound of a plan that is feasible: found -inf"),
        (
            {"status": Status.INFEASIBLE, "objective": None},
            r"bound of a plan that is infeasible: found 1\.5, expected none",
        ),
        ({"threshold": -1}, "threshold: found -1, expected a whole number"),
        (
            {
                "brokers": Brokers(
                    np.array([0, 1]), np.ones(2, np.int64), np.ones(2, int)
                )
            },
            "type of broker: found 1, expected from 0 to 0",
        ),
        (
            {"brokers": Brokers(np.array([0, -1]), np.ones(2, int), np.ones(2, int))},
            "type of broker: found -1, expected from 0 to 0",
        ),
        (
            {"brokers": Brokers(np.zeros(1, int), np.ones(1, int), np.ones(1, int))},
            "broker of placement: found 1, expected from 0 to 0",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    two_brokers: Plan, fields: Any, text: str
) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        replace(two_brokers, **fields)


def test_brokers_of_different_length_are_refused() -> None:
    one = np.ones(1, np.int64)
    with pytest.raises(InputError, match="brokers: type, capacity and load differ"):
        Brokers(np.zeros(2, np.int32), one, one)


def test_a_threshold_from_numpy_is_a_plain_number(two_brokers: Plan) -> None:
    threshold: Any = np.int64(7)
    assert type(replace(two_brokers, threshold=threshold).threshold) is int


def test_an_empty_plan_is_a_plan(two_brokers: Plan) -> None:
    none = np.zeros(0, np.int32)
    empty = replace(
        two_brokers,
        status=Status.OPTIMAL,
        objective=0,
        bound=0,
        brokers=Brokers(none, none.astype(np.int64), none.astype(np.int64)),
        selection=Interests(np.zeros(1, np.int64), none),
        placement=Placement(none, none, none.astype(np.int64)),
    )
    assert (empty.gap, empty.load) == (0.0, 0)


def test_repr_gives_status_and_numbers(two_brokers: Plan) -> None:
    large = replace(two_brokers, objective=1234.5, bound=1234.5, status=Status.OPTIMAL)
    assert repr(two_brokers) == (
        "Plan(provision by whole: feasible, objective 2, bound 1.5, gap 25.00%, "
        "2 brokers, 2 pairs)"
    )
    assert "optimal, objective 1,234.5, bound 1,234.5, gap 0.00%" in repr(large)
