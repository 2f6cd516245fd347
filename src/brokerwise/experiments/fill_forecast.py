"""How long instances of the fill experiment take, before any was measured."""

from collections.abc import Hashable, Iterable

from brokerwise.experiments.fill_measure import Task
from brokerwise.experiments.fill_settings import SMALL
from brokerwise.experiments.forecast import Forecast

_EASY_SECONDS = 0.02
_SCALED_SECONDS = 1.0
_SHARE_OF_LIMIT = 0.3  # that a hard instance takes


def forecast(tasks: Iterable[Task], workers: int) -> Forecast[Task]:
    return Forecast.of(tasks, workers, kind=_kind, guess=_guess)


def _kind(task: Task) -> Hashable:
    """The same sizes, bandwidth that is short or not, with a certificate or not."""
    return task.cell.shape, task.cell.short, task.columns


def _guess(task: Task) -> float:
    if task.cell.short and task.columns:
        return task.seconds * _SHARE_OF_LIMIT
    return _EASY_SECONDS if task.cell.shape in SMALL else _SCALED_SECONDS
