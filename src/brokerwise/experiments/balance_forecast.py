"""How long runs of the balance experiment take, before any was measured."""

from collections.abc import Hashable, Iterable

from brokerwise.experiments.balance_measure import Task
from brokerwise.experiments.balance_settings import PAPER
from brokerwise.experiments.forecast import Forecast

# Seconds of a run at least, and more at 10,000 subscribers, on an idle core: without
# balancing, and with a policy.
_NONE, _POLICY = (0.2, 3.0), (0.5, 6.0)


def forecast(tasks: Iterable[Task], workers: int) -> Forecast[Task]:
    return Forecast.of(tasks, workers, kind=_kind, guess=guess)


def guess(task: Task) -> float:
    """Seconds of a run."""
    setting = task.cell.setting
    size = setting.subscribers / PAPER.subscribers * setting.minutes / PAPER.minutes
    least, more = _NONE if task.cell.policy == "none" else _POLICY
    return least + more * size


def _kind(task: Task) -> Hashable:
    return task.cell.setting.key, task.cell.policy
