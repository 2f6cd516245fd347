"""How long samples of the overlay experiment take, before any was measured."""

from collections.abc import Hashable, Iterable

from brokerwise.experiments.forecast import Forecast
from brokerwise.experiments.overlay_measure import Task
from brokerwise.experiments.overlay_settings import SIZES

# Seconds of a sample at least, and more at 10,000 users, on an idle core: of a network,
# of each ratio (`steiner`, costs, checks), of `local`. More goes with users squared.
_NETWORK, _RATIO = (0.03, 0.3), (0.02, 0.6)
_LOCAL_WIDE, _LOCAL_NARROW = (0.1, 4.0), (2.0, 20.0)
_LITERAL = 40.0  # at 10,000 users; goes with users to the fourth


def forecast(tasks: Iterable[Task], workers: int) -> Forecast[Task]:
    return Forecast.of(tasks, workers, kind=_kind, guess=guess)


def guess(task: Task) -> float:
    """Seconds of a sample."""
    cell = task.cell
    size = cell.users / SIZES[-1]
    local = _LOCAL_WIDE if cell.regime.width == 1 else _LOCAL_NARROW
    steps = [_RATIO, local] if task.local else [_RATIO]
    each = sum(least + more * size * size for least, more in steps)
    literal = sum(cell.is_literal(task.number, ratio) for ratio in cell.ratios)
    least, more = _NETWORK
    network = least + more * size * size
    return network + each * len(cell.ratios) + literal * _LITERAL * size**4


def _kind(task: Task) -> Hashable:
    """Of the same cell; those with `local` or `steiner_literal` take longer."""
    return task.cell.name, task.local, task.number < task.cell.literal
