"""How long the rest of the experiment will take."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from brokerwise.experiments.overlay_measure import Task
from brokerwise.experiments.overlay_settings import SIZES

# Seconds of a sample at least, and more at 10,000 users, on an idle core: of a network,
# of each ratio (`steiner`, costs, checks), of `local`. More goes with users squared.
_NETWORK, _RATIO = (0.03, 0.3), (0.02, 0.6)
_LOCAL_WIDE, _LOCAL_NARROW = (0.1, 4.0), (2.0, 20.0)
_TRUST = 5.0  # seconds of guesses that were wrong before they are doubted

Kind = tuple[str, bool]


@dataclass
class Forecast:
    """Samples of a cell take about as long, those with `local` longer.

    Of kinds that were not measured yet it has a guess, which is as wrong as guesses
    of the others were.
    """

    workers: int
    waiting: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[Kind, float] = field(default_factory=lambda: defaultdict(float))
    done: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    guesses: dict[Kind, float] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[Task], workers: int) -> "Forecast":
        forecast = cls(workers)
        for task in tasks:
            forecast.waiting[_kind(task)] += 1
            forecast.guesses[_kind(task)] = guess(task)
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
        return self.guesses[kind] * self._off()

    def _off(self) -> float:
        guessed = sum(self.guesses[kind] * number for kind, number in self.done.items())
        return (sum(self.seconds.values()) + _TRUST) / (guessed + _TRUST)


def guess(task: Task) -> float:
    """Seconds of a sample, before any was measured."""
    cell = task.cell
    size = cell.users / SIZES[-1]
    local = _LOCAL_WIDE if cell.regime.width == 1 else _LOCAL_NARROW
    steps = [_RATIO, local] if task.local else [_RATIO]
    each = sum(least + more * size * size for least, more in steps)
    least, more = _NETWORK
    return least + more * size * size + each * len(cell.ratios)


def _kind(task: Task) -> Kind:
    return task.cell.name, task.local
