"""What is found to be wrong with a plan or a model, if it is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from brokerwise.experiments.colocate_checks import (
    learned_problems,
    monotone_problems,
    plan_problems,
    request_problems,
)
from brokerwise.experiments.colocate_data import PARTS, TEST, TRAIN, Lots, lots
from brokerwise.experiments.colocate_settings import QUICK, LearnCell
from brokerwise.model.arrays import Float64s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.names import Names
from brokerwise.planners.colocate.problem import Options, Problem
from brokerwise.planners.colocate.solve import solve


class Loads:
    """Predicts 10 ms for each part in 100 of all topics' load."""

    most_topics = 3
    monotone = True

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        loads = processing_ms * rate_per_second
        total = np.broadcast_to(loads.sum(axis=1, keepdims=True), loads.shape)
        return np.asarray(total, np.float64)


class Odd(Loads):
    """Predicts less when there are more topics."""

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        count = processing_ms.shape[1]
        return np.asarray(np.full(processing_ms.shape, 100.0 / count), np.float64)


TOPICS = TopicTable(
    Names.numbered(6),
    np.full(6, 10.0),
    np.array([40.0, 35.0, 30.0, 30.0, 20.0, 10.0]),
    np.full(6, 1000.0),
)


@pytest.fixture(scope="module")
def honest() -> ColocationPlan:
    return solve(Problem(TOPICS, Loads(), 3), Options("ffd"))


def problems(plan: ColocationPlan, k: int = 3) -> list[str]:
    return plan_problems(plan, TOPICS, Loads(), k)


def moved(plan: ColocationPlan, **columns: Any) -> ColocationPlan:
    return replace(plan, replicas=replace(plan.replicas, **columns))


def test_a_plan_as_it_is_has_no_problems(honest: ColocationPlan) -> None:
    assert honest.objective == 2
    assert problems(honest) == []


def test_a_topic_that_is_placed_twice_is_found(honest: ColocationPlan) -> None:
    topic = honest.replicas.topic.copy()
    topic[1] = 0
    found = problems(moved(honest, topic=topic))
    assert "topic 0 is placed 2 times" in found


def test_too_many_topics_of_a_broker_are_found(honest: ColocationPlan) -> None:
    assert problems(honest, k=2) == ["a broker has 3 topics, more than 2"]


def test_a_broker_that_is_predicted_to_miss_is_found(honest: ColocationPlan) -> None:
    broker = np.array([0, 0, 0, 1, 1, 1], np.int32)
    found = problems(moved(honest, broker=broker))
    assert found == ["topic 0 on broker 0 is predicted 1,050.0 ms, more than 900.0 ms"]


def test_predictions_that_the_model_does_not_make_are_found(
    honest: ColocationPlan,
) -> None:
    predicted = honest.replicas.predicted_p90_ms * 0.9
    found = problems(moved(honest, predicted_p90_ms=predicted))
    assert found == ["predictions on broker 0 are not what the model says"]


def test_a_bound_above_the_plan_and_wrong_numbers_are_found(
    honest: ColocationPlan,
) -> None:
    found = problems(replace(honest, bound=3, objective=4))
    assert found == [
        "says 4 brokers, but they are 2",
        "says that no plan has fewer than 3, but has 2",
    ]


def test_rates_that_were_not_asked_for_are_found(honest: ColocationPlan) -> None:
    rates = honest.replicas.rate_per_second / 2
    found = problems(moved(honest, rate_per_second=rates))
    assert found == ["a topic does not have the rate that it was asked for"]


def test_no_plan_at_all_is_a_problem() -> None:
    fast = replace(TOPICS, rate_per_second=np.full(6, 99.0))
    plan = solve(Problem(fast, Loads(), 3), Options("ffd"))
    (found,) = plan_problems(plan, fast, Loads(), 3)
    assert found.startswith("has no plan: topic")


def test_a_search_that_is_worse_and_a_bound_that_another_plan_beats_are_found() -> None:
    runs = [
        {"label": "ffd", "brokers": 4, "bound": 5},
        {"label": "search", "brokers": 5, "bound": 3},
    ]
    assert list(request_problems(runs)) == [
        "search has 5 brokers, ffd 4",
        "ffd says that no plan has fewer than 5 brokers, but there is one with 4",
    ]
    runs = [{"label": "ffd", "brokers": 4, "bound": 4}]
    assert list(request_problems(runs)) == []


def test_a_model_that_falls_when_a_topic_is_added_is_found() -> None:
    assert list(monotone_problems(Loads(), (10.0, 20.0), (9, 5), 0)) == []
    found = list(monotone_problems(Odd(), (10.0, 20.0), (9, 5), 0))
    assert found == [
        "removing a topic of 2 raises a prediction in 200 of 200 sets",
        "removing a topic of 3 raises a prediction in 200 of 200 sets",
    ]


SMALL = replace(QUICK, k=2, alone=20, each=20, validation=4, messages=20)


@pytest.fixture(scope="module")
def data() -> Lots:
    return lots(SMALL, 0, (1, 2))


def test_data_is_split_by_configuration_as_in_the_paper(data: Lots) -> None:
    group = data.subject.samples.group
    sizes = {
        (part, k): len(set(group[data.of(part, k)].tolist()))
        for part in PARTS
        for k in (1, 2)
    }
    assert sizes == {
        **{("train", 1): 12, ("test", 1): 8, ("validation", 1): 0},
        **{("train", 2): 19, ("test", 2): 1, ("validation", 2): 4},
    }
    fewer = lots(SMALL, 0, (2,), 5)
    assert len(fewer.parts[TRAIN]) == 10
    assert len(fewer.parts[TEST]) == 2


def test_what_is_wrong_with_a_model_is_found(data: Lots) -> None:
    cell = LearnCell("unified", 0, 0, SMALL, 0)
    logs = data.subject.samples.logs
    said = {part: logs[rows] for part, rows in data.parts.items()}
    assert learned_problems(data, said, lambda some: logs[some], cell) == []
    found = learned_problems(data, said, lambda some: logs[some] + 0.5, cell)
    assert found[0] == "the model, read again, differs by 0.5 on the train data"
    mixed = replace(data, parts={**data.parts, TEST: data.parts[TRAIN][:4]})
    said = {part: logs[rows] for part, rows in mixed.parts.items()}
    found = learned_problems(mixed, said, lambda some: logs[some], cell)
    assert found == ["4 configurations are for train and for test"]
    sized = replace(cell, size=7)
    found = learned_problems(data, {}, lambda some: logs[some], sized)
    assert found == ["k = 2: learned from 38 rows, not from 14"]
