"""One piece of work of the co-location experiment, whatever it is."""

from dataclasses import dataclass
from typing import Any

from brokerwise.experiments.colocate_learn import learn
from brokerwise.experiments.colocate_measured import learn_measured
from brokerwise.experiments.colocate_plans import plan_request
from brokerwise.experiments.colocate_sensitivity import sensitivity
from brokerwise.experiments.colocate_settings import (
    Cell,
    LearnCell,
    MeasuredCell,
    PlanCell,
    SensitivityCell,
)
from brokerwise.latency.models import LatencyModel

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Task:
    """A cell; for a plan also the model."""

    cell: Cell
    model: LatencyModel | None = None

    def __str__(self) -> str:
        return self.cell.title


def measure(task: Task) -> Record:
    match task.cell:
        case SensitivityCell() as cell:
            return sensitivity(cell)
        case LearnCell() as cell:
            return learn(cell)
        case MeasuredCell() as cell:
            return learn_measured(cell)
        case PlanCell() as cell:
            assert task.model is not None
            return plan_request(cell, task.model)


def warm_up() -> None:
    """Compile, or load, what simulates."""
    from dataclasses import replace

    from brokerwise.experiments.colocate_data import run_of
    from brokerwise.experiments.colocate_settings import QUICK
    from brokerwise.latency.design import Configuration
    from brokerwise.latency.queueing import simulate_targets

    run = run_of(replace(QUICK, messages=5), 0)
    simulate_targets([Configuration((10.0, 20.0), (1, 2))], run)


def warm_up_plans() -> None:
    """Compile, or load, what plans, too: the first plan must not pay for it."""
    import numpy as np

    from brokerwise.model.colocation import TopicTable
    from brokerwise.model.names import Names
    from brokerwise.planners.colocate.problem import ALGORITHMS, Options, Problem
    from brokerwise.planners.colocate.solve import solve

    warm_up()
    small = TopicTable(
        Names.numbered(9), np.full(9, 10.0), np.arange(1.0, 10), np.full(9, 1000.0)
    )
    for algorithm in ALGORITHMS:
        solve(Problem(small, _Sum(), 3), Options(algorithm))


class _Sum:
    """A predictor that is quick to ask: five times the load of all topics, in ms."""

    most_topics = 3
    monotone = True

    def p90_ms(self, processing_ms: Any, rate_per_second: Any) -> Any:
        total = (processing_ms * rate_per_second).sum(axis=1, keepdims=True)
        return 5 * total + 0 * processing_ms
