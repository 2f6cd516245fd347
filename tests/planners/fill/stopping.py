"""Ways to end a search early."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from brokerwise.planners.fill.columns import search


class After:
    """Says stop once it was asked so many times."""

    def __init__(self, questions: int) -> None:
        self._left = questions

    def __call__(self) -> bool:
        self._left -= 1
        return self._left < 0


@contextmanager
def little_work(steps: int) -> Iterator[None]:
    """Searches may take so many steps only."""
    with patch.object(search, "WORK", steps):
        yield
