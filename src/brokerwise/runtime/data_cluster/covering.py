"""How many segments the next run of a channel takes, after runs that failed. Pure.

A run that fails is tried again once, in case it was a passing trouble; then its
segments are halved, until the one that it cannot process is alone, has failed twice,
and is set aside. What succeeds doubles the number again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from brokerwise.runtime.protocol.limits import SEGMENTS_PER_RUN

TRIES = 2  # of a run, and of a segment alone

Segment = TypeVar("Segment")


class Verdict(Enum):
    """What becomes of the segments of a run that failed."""

    AGAIN = "tried again"
    HALVED = "halved"
    SET_ASIDE = "set aside"


@dataclass(frozen=True)
class Pace:
    """`most` segments go into the next run; the same ones have failed `failures`
    times. One of the next `suspects` segments has made a run fail. `careful`: a run
    has failed twice not long ago."""

    most: int = SEGMENTS_PER_RUN
    failures: int = 0
    suspects: int = 0
    careful: bool = False

    def taken(self, waiting: Sequence[Segment]) -> Sequence[Segment]:
        return waiting[: self.most]

    def succeeded(self, taken: int) -> "Pace":
        """After a run over so many segments has succeeded: the one that made others
        fail is among the rest of the suspects."""
        rest = self.suspects - taken
        if rest > 0:
            return Pace(max(1, rest // 2), suspects=rest, careful=True)
        most = min(2 * taken, SEGMENTS_PER_RUN) if self.careful else SEGMENTS_PER_RUN
        return Pace(most, careful=most < SEGMENTS_PER_RUN)

    def failed(self, taken: int) -> tuple["Pace", Verdict]:
        """After a run over so many segments has failed. The next run takes the same
        ones, the first half of them, or those after the one that is set aside.

        Each segment that cannot be processed costs at most 2 log2(n) + 4 runs, with n
        segments in a run.
        """
        failures = self.failures + 1
        if taken == 1 and failures >= TRIES:
            return Pace(1, careful=True), Verdict.SET_ASIDE
        if taken == 1 or not (self.careful or failures >= TRIES):
            return Pace(taken, failures, careful=self.careful), Verdict.AGAIN
        return Pace(taken // 2, suspects=taken, careful=True), Verdict.HALVED
