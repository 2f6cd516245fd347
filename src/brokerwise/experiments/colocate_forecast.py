"""How long the co-location experiment takes, before anything was measured."""

from collections.abc import Hashable, Iterable

from brokerwise.experiments.colocate_measure import Task
from brokerwise.experiments.colocate_settings import (
    KINDS,
    LearnCell,
    PlanCell,
    Setting,
    work,
)
from brokerwise.experiments.forecast import Forecast


def forecast(tasks: Iterable[Task], workers: int) -> Forecast[Task]:
    return Forecast.of(tasks, workers, kind=_kind, guess=lambda task: work(task.cell))


def plan_seconds(setting: Setting) -> float:
    """Of all plans, on one core."""
    return sum(
        work(PlanCell(topics, 0, kind, (), (), setting, 0)) * setting.requests
        for topics in setting.topics
        for kind in KINDS
    )


def _kind(task: Task) -> Hashable:
    cell = task.cell
    if isinstance(cell, PlanCell):
        return cell.what, cell.kind, cell.topics
    if isinstance(cell, LearnCell):
        return cell.what, cell.kind, cell.topics, cell.size
    return cell.name
