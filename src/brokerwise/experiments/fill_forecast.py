"""How long the rest of the experiment will take."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from brokerwise.experiments.fill_measure import Task
from brokerwise.experiments.fill_settings import SMALL, Shape

_EASY_SECONDS = 0.02  # an instance, before any of its kind was measured
_SCALED_SECONDS = 1.0
_SHARE_OF_LIMIT = 0.3  # that a hard instance takes then

Kind = tuple[Shape, bool, bool]


@dataclass
class Forecast:
    """Instances of a kind take about as long: the same sizes, bandwidth that
    is short or not, with a certificate or without."""

    workers: int
    waiting: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[Kind, float] = field(default_factory=lambda: defaultdict(float))
    done: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    limit: float = 0.0

    @classmethod
    def of(cls, tasks: Iterable[Task], workers: int) -> "Forecast":
        forecast = cls(workers)
        for task in tasks:
            forecast.waiting[_kind(task)] += 1
            forecast.limit = task.seconds
        return forecast

    def finished(self, task: Task, seconds: float) -> None:
        kind = _kind(task)
        self.waiting[kind] -= 1
        self.done[kind] += 1
        self.seconds[kind] += seconds

    @property
    def left(self) -> float:
        """Seconds until all is done, with all workers busy."""
        work = sum(self._each(kind) * number for kind, number in self.waiting.items())
        return work / self.workers

    def _each(self, kind: Kind) -> float:
        if self.done[kind]:
            return self.seconds[kind] / self.done[kind]
        shape, short, columns = kind
        easy = _EASY_SECONDS if shape in SMALL else _SCALED_SECONDS
        return self.limit * _SHARE_OF_LIMIT if short and columns else easy


def _kind(task: Task) -> Kind:
    return task.cell.shape, task.cell.short, task.columns
