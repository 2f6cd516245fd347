"""Co-location plans."""

import pytest

from brokerwise.model.colocation import ColocationPlan, Replicas
from brokerwise.model.errors import InputError
from brokerwise.model.plan import Status


def replicas(broker: list[int], predicted: list[float]) -> Replicas:
    count = len(broker)
    return Replicas(
        topic=list(range(count)),  # type: ignore[arg-type]
        number=[0] * count,  # type: ignore[arg-type]
        broker=broker,  # type: ignore[arg-type]
        rate_per_second=[1.0] * count,  # type: ignore[arg-type]
        predicted_p90_ms=predicted,  # type: ignore[arg-type]
    )


def plan(objective: int | None, bound: int | None, status: Status) -> ColocationPlan:
    where = replicas([0, 1, 1], [1.0, 2.0, 3.0])
    return ColocationPlan("ffd", status, objective, bound, where, k=2, margin=0.1)


def test_a_plan_says_how_far_it_may_be_from_the_best() -> None:
    assert plan(4, 3, Status.FEASIBLE).gap == 0.25
    assert plan(4, 4, Status.OPTIMAL).gap == 0.0
    assert plan(None, None, Status.INFEASIBLE).gap is None


def test_a_plan_shows_its_brokers() -> None:
    assert "2 brokers, bound 2" in repr(plan(2, 2, Status.OPTIMAL))


@pytest.mark.parametrize(
    ("objective", "bound", "status"),
    [(1, None, Status.FEASIBLE), (1, 1, Status.INFEASIBLE)],
)
def test_only_an_infeasible_plan_has_no_figures(
    objective: int | None, bound: int | None, status: Status
) -> None:
    with pytest.raises(InputError, match="of a plan that is"):
        plan(objective, bound, status)


def test_brokers_are_counted_from_where_replicas_are() -> None:
    assert replicas([0, 1, 1], [1.0] * 3).brokers == 2
    assert replicas([], []).brokers == 0


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="differ in length"):
        replicas([0, 1], [1.0])
