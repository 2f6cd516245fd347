"""Whether and when a process that has ended is started again."""

from dataclasses import dataclass

from brokerwise.runtime.process.launch import EXIT_RESTART

FIRST_SECONDS = 0.5
MOST_SECONDS = 10.0
STEADY_SECONDS = 10.0  # one that lived so long failed for a reason of its own


@dataclass
class Restarts:
    """Counts failures in a row: 0.5 s before the next start, doubling up to 10 s.

    A process that ends with 0 was told to, and stays out, unless `always`. One that
    ends with EXIT_RESTART is started at once.
    """

    always: bool = False
    first: float = FIRST_SECONDS
    most: float = MOST_SECONDS
    failures: int = 0

    def pause(self, code: int | None, lived: float) -> float | None:
        """Seconds before the next start; None: there is none.

        `code` is None for a process that did not come up and had to be killed.
        """
        if lived >= STEADY_SECONDS:
            self.failures = 0
        if code == EXIT_RESTART:
            return 0.0
        if code == 0 and not self.always:
            return None
        seconds = self.first * 2.0 ** min(self.failures, 30)
        self.failures += 1
        return min(seconds, self.most)
