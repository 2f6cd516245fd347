"""How much work a search may do."""

from brokerwise.planners.control import Stop


class Effort:
    """Counts work, so that a search ends at the same point every time; `stop` may end
    it earlier."""

    def __init__(self, most: int, stop: Stop) -> None:
        self._left, self._stop = most, stop
        self.stopped = False

    def spend(self, steps: int) -> None:
        self._left -= steps

    @property
    def over(self) -> bool:
        if not self.stopped and self._stop():
            self.stopped = True
        return self.stopped or self._left <= 0
