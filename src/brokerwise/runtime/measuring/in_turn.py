"""A series of trials, one after the other, of which those that are complete stay."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from brokerwise.runtime.measuring.directory import Directory
from brokerwise.runtime.measuring.running import Cores, TrialError, run_trial
from brokerwise.runtime.measuring.trials import Trial

ATTEMPTS = 3
_PAUSE_SECONDS = 2.0


@dataclass(frozen=True)
class Moment:
    """How far a series is, and how many seconds the rest will take."""

    cell: str
    done: int
    of: int
    seconds_left: float


class Countdown:
    """Seconds that are left: as expected, corrected by how long it has taken so far."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._expected = self._taken = 0.0

    def note(self, trial: Trial, seconds: float) -> None:
        self._expected += trial.expected_seconds(self._cores)
        self._taken += seconds

    def left(self, trials: Sequence[Trial]) -> float:
        expected = sum(trial.expected_seconds(self._cores) for trial in trials)
        return expected * (self._taken / self._expected if self._expected else 1.0)


async def measure(
    trials: Sequence[Trial],
    later: Sequence[Trial],
    directory: Directory,
    cores: Cores,
    countdown: Countdown,
    tell: Callable[[Moment], None] = lambda moment: None,
) -> None:
    """Measure those that have no log yet.

    `later` are trials that will follow, or such as may. What fails is tried again;
    TrialError if that does not help. Cancelling it loses the trial under way.
    """
    complete = directory.complete()
    missing = [trial for trial in trials if trial.number not in complete]
    following = [trial for trial in later if trial.number not in complete]
    total = len(trials) + len(later)
    for i, trial in enumerate(missing):
        rest = [*missing[i:], *following]
        done, left = total - len(rest), countdown.left(rest)

        def say(words: str, done: int = done, left: float = left) -> None:
            tell(Moment(words, done, total, left))

        say(_words(trial))
        countdown.note(trial, await _measured(trial, directory, cores, say))
    done, left = total - len(following), countdown.left(following)
    tell(Moment("", done, total, left))


async def _measured(
    trial: Trial, directory: Directory, cores: Cores, say: Callable[[str], None]
) -> float:
    """The seconds that it took, in the attempt that succeeded."""
    loop = asyncio.get_running_loop()
    for attempt in range(1, ATTEMPTS + 1):
        began = loop.time()
        try:
            await run_trial(trial, cores, directory.log(trial.number))
            break
        except TrialError as error:
            if attempt == ATTEMPTS:
                raise
            say(f"once more: {error.message}")
            await asyncio.sleep(_PAUSE_SECONDS)
    return loop.time() - began


def _words(trial: Trial) -> str:
    """`configuration 7: 2.5 ms 40/s, 10 ms 12/s`."""
    topics = [f"{t.processing_ms:g} ms {t.rate_per_second:g}/s" for t in trial.topics]
    return f"configuration {trial.number}: {', '.join(topics)}"
