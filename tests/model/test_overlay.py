"""Overlay plans as answers."""

from typing import Any

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status

NO_TREES = Trees(*(np.zeros(0, np.int32) for _ in range(4)))


def plan(**changes: Any) -> OverlayPlan:
    facts: dict[str, Any] = {
        "algorithm": "local",
        "status": Status.FEASIBLE,
        "objective": 2000,
        "bound": 1500,
        "broker": np.array([0, 1, 1]),
        "load": np.array([3, 4]),
        "trees": NO_TREES,
    }
    return OverlayPlan(**(facts | changes))


def test_the_gap_is_a_share_of_the_objective() -> None:
    assert plan().gap == 0.25
    assert plan(bound=2000).gap == 0
    assert plan(objective=0, bound=0).gap == 0


def test_a_plan_says_how_good_it_is() -> None:
    assert repr(plan()) == "OverlayPlan(by local: feasible, cost 2,000, gap 25.00%)"
    nothing = plan(status=Status.INFEASIBLE, objective=None, bound=None)
    assert repr(nothing) == "OverlayPlan(by local: infeasible)"
    assert nothing.gap is None


def test_what_is_not_said_is_plain() -> None:
    made = plan()
    assert (made.kind, made.tree, made.seed, made.reason) == ("overlay", False, 0, "")
    assert made.figures == made.options == made.seconds == {}
    assert [str(made.broker.dtype), str(made.load.dtype)] == ["int32", "int64"]
    with pytest.raises(ValueError, match="read-only"):
        made.broker[0] = 1


@pytest.mark.parametrize("name", ["objective", "bound"])
def test_objective_and_bound_are_there_if_and_only_if_there_is_a_plan(
    name: str,
) -> None:
    with pytest.raises(InputError, match=f"^{name} of a plan that is feasible: found "):
        plan(**{name: None})
    others = {"objective": None, "bound": None, name: 5}
    with pytest.raises(InputError, match=f"^{name} of a plan that is infeasible: "):
        plan(status=Status.INFEASIBLE, **others)


def test_brokers_are_whole_numbers() -> None:
    with pytest.raises(InputError, match=r"^broker of overlay plan: found float64"):
        plan(broker=np.array([0.5, 1, 1]))


def test_trees_are_columns_of_one_length() -> None:
    links = Trees(*np.array([[0, 3, 0, 1], [0, 3, 1, 2]]).T)
    assert len(links) == 2
    assert links.child.tolist() == [1, 2]
    assert links.child.dtype == np.int32
    with pytest.raises(
        InputError,
        match=r"^trees: source, subchannel, parent, child differ in length$",
    ):
        Trees(links.source, links.subchannel, links.parent, links.child[:1])
