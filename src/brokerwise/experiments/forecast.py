"""How long the rest of an experiment will take."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Task = TypeVar("Task")

_TRUST = 5.0  # seconds of guesses that were wrong before they are doubted


@dataclass
class Forecast(Generic[Task]):
    """Tasks of a kind take about as long.

    Of kinds that were not measured yet it has a guess, which is as wrong as guesses
    of the others were.
    """

    workers: int
    kind: Callable[[Task], Hashable]
    waiting: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[Hashable, float] = field(default_factory=lambda: defaultdict(float))
    done: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))
    guesses: dict[Hashable, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tasks: Iterable[Task],
        workers: int,
        *,
        kind: Callable[[Task], Hashable],
        guess: Callable[[Task], float],
    ) -> "Forecast[Task]":
        forecast = cls(workers, kind)
        for task in tasks:
            forecast.waiting[kind(task)] += 1
            forecast.guesses[kind(task)] = guess(task)
        return forecast

    def finished(self, task: Task, seconds: float) -> None:
        kind = self.kind(task)
        self.waiting[kind] -= 1
        self.done[kind] += 1
        self.seconds[kind] += seconds

    @property
    def left(self) -> float:
        """Seconds until all is done, with all workers busy."""
        work = sum(self._each(kind) * number for kind, number in self.waiting.items())
        return work / self.workers

    def _each(self, kind: Hashable) -> float:
        if self.done[kind]:
            return self.seconds[kind] / self.done[kind]
        return self.guesses[kind] * self._off()

    def _off(self) -> float:
        guessed = sum(self.guesses[kind] * number for kind, number in self.done.items())
        return (sum(self.seconds.values()) + _TRUST) / (guessed + _TRUST)
