"""Many deadlines of the same length, without a timer for each."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Patience(Generic[T]):
    """Who has been waited for since when. All have the same time, so they run out in
    the order in which they began: each look costs only what has run out."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadlines: dict[T, float] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def begin(self, who: T, now: float) -> None:
        """Wait for it from now on; from anew, if it was waited for already."""
        self._deadlines.pop(who, None)
        self._deadlines[who] = now + self.seconds

    def end(self, who: T) -> None:
        """It has come, or gone."""
        self._deadlines.pop(who, None)

    def run_out(self, now: float) -> list[T]:
        """Those whose time is over, oldest first. They are waited for no longer."""
        late = []
        for who, deadline in self._deadlines.items():
            if deadline > now:
                break
            late.append(who)
        for who in late:
            del self._deadlines[who]
        return late
