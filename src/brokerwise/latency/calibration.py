"""What a message costs a real broker beside its processing: the overhead with which the
simulation comes closest to what was measured, and how close that is.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from brokerwise.latency.design import Configuration
from brokerwise.latency.queueing import (
    TYPICAL,
    Overhead,
    Run,
    Traffic,
    latencies,
    p90,
    traffic_of,
)
from brokerwise.latency.simplex import minimise
from brokerwise.model.arrays import Bools, Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

EVALUATIONS = 240
LEAST = 8
"""Configurations that there must be."""

MOST = 240
"""Configurations that are used for the search, however many there are."""

_ROUNDS = 3
_SEEDS = (1, 2, 3)  # where it is unknown when messages were sent
_STEPS = (0.1, 0.1, 0.05, 0.5, 0.02)
"""The first ones: ms of the loop, ms of a worker, factor, ms on the way, lost share."""


@dataclass(frozen=True)
class Agreement:
    """Errors of p90s, of which `log(other / measured)` are the logarithms.

    Attributes
    ----------
    rows
        How many there are.
    median, p90
        Of how many times one is the other, less 1: at 0.05 half of them are within
        5 %, whichever is larger.
    bias
        Median of other / measured, less 1.
    r2
        Of the logarithms: 1 less the sum of squared errors over that of the
        measured ones around their mean; None if these are all the same.
    """

    rows: int
    median: float
    p90: float
    bias: float
    r2: float | None


def agreement(errors: Float64s, measured: Float64s) -> Agreement:
    """Of rows with these logarithms of other / measured, and these measured p90s."""
    sizes = np.abs(errors)
    logs = np.log(measured)
    spread = float(np.sum((logs - logs.mean()) ** 2))
    return Agreement(
        rows=len(errors),
        median=float(np.expm1(np.median(sizes))),
        p90=float(np.expm1(np.quantile(sizes, 0.9))),
        bias=float(np.expm1(np.median(errors))),
        r2=1 - float(np.sum(errors**2)) / spread if spread > 0 else None,
    )


@dataclass(frozen=True, eq=False)
class Calibration:
    """An overhead, and how well it does on configurations that were not used for it.

    Attributes
    ----------
    fitted
        On the configurations that it was found with.
    checked
        On the others. `by_topics` has the same by number of topics; `below` and
        `above` are those where the broker, overhead included, has less to do than
        its cores and each worker can, and those where it has as much or more.
    """

    overhead: Overhead
    fitted: Agreement
    checked: Agreement
    by_topics: Mapping[int, Agreement]
    below: Agreement | None
    above: Agreement | None

    def as_json(self) -> dict[str, Any]:
        def plain(found: Agreement | None) -> dict[str, Any] | None:
            return None if found is None else asdict(found)

        return {
            "overhead": self.overhead.as_json(),
            "fitted": plain(self.fitted),
            "checked": plain(self.checked),
            "by_topics": {str(k): plain(a) for k, a in self.by_topics.items()},
            "below": plain(self.below),
            "above": plain(self.above),
        }


def run_of(settings: Mapping[str, Any]) -> Run:
    """How data was measured, from its settings; InputError for what they do not say."""
    names = ("rate_each", "messages", "cores")
    missing = [
        name for name in names if not isinstance(settings.get(name), int | float)
    ]
    if missing:
        raise InputError(
            f"settings of latency data: found no {' and no '.join(missing)}, which a "
            "simulation of the same needs"
        )
    return Run(
        float(settings["rate_each"]),
        int(settings["messages"]),
        int(settings["cores"]),
        longest_seconds=float(settings.get("longest_seconds") or np.inf),
        seed=int(settings.get("seed") or 0),
    )


def calibrate(
    rows: LatencyRows,
    run: Run,
    *,
    known: bool = True,
    without: Collection[int] = (),
    start: Overhead = TYPICAL,
    evaluations: int = EVALUATIONS,
) -> Calibration:
    """The overhead that fits half of the configurations (no more than MOST) best: with
    the least mean of |log(simulated p90 / measured p90)|. The others say how well.

    Parameters
    ----------
    run
        How they were measured; its overhead is not looked at.
    known
        Whether messages were sent at the times that `run.seed` and the numbers of
        the configurations give. If not, means over a few other seeds are compared.
    without
        Numbers of configurations that are not to be used.

    Deterministic. The parts of the loop before and after the step keep their
    proportion: a latency hardly tells one from the other.
    """
    trials = _trials(rows, run, without, (run.seed,) if known else _SEEDS)
    fit = _half(trials)
    if fit.all():
        raise InputError(
            "calibration: found no number of topics with several configurations, of "
            "which a half could be kept for the check"
        )

    def error(point: Float64s) -> float:
        overhead = _overhead(point, start)
        chosen = [trial for trial, use in zip(trials, fit, strict=True) if use]
        return float(np.mean(np.abs(_errors(chosen, replace(run, overhead=overhead)))))

    loop = start.receive_ms + start.deliver_ms
    best = np.array([loop, start.worker_ms, start.factor, start.path_ms, start.lost])
    steps = np.array(_STEPS)
    for _ in range(_ROUNDS):  # a simplex that has become flat begins anew
        best, _ = minimise(error, best, steps, evaluations // _ROUNDS)
        steps /= 2
    return _judged(trials, fit, replace(run, overhead=_overhead(best, start)))


@dataclass(frozen=True, eq=False)
class _Trial:
    """A configuration, what was measured, and what is sent to its simulation."""

    configuration: Configuration
    p90_ms: Float64s
    traffic: Sequence[Traffic]


def _trials(
    rows: LatencyRows, run: Run, without: Collection[int], seeds: Sequence[int]
) -> list[_Trial]:
    found = []
    for _, sets in rows.sets():
        for of in sets:
            number = int(rows.configuration[of[0]])
            if number in without:
                continue
            configuration = _configuration(rows.take(of), run)
            traffic = [
                traffic_of(configuration, replace(run, seed=seed), number)
                for seed in seeds
            ]
            found.append(_Trial(configuration, rows.p90_ms[of], traffic))
    if len(found) < LEAST:
        raise InputError(
            f"calibration: found {len(found)} configurations, expected at least {LEAST}"
        )
    return found


def _configuration(rows: LatencyRows, run: Run) -> Configuration:
    publishers = rows.rate_per_second / run.rate_each
    whole = np.rint(publishers)
    if np.abs(publishers - whole).max() > 1e-6:
        raise InputError(
            f"configuration {rows.configuration[0]}: found rates "
            f"{rows.rate_per_second.tolist()}, expected multiples of "
            f"{run.rate_each:g}, what one publisher sends"
        )
    return Configuration(
        tuple(rows.processing_ms.tolist()), tuple(whole.astype(np.int64).tolist())
    )


def _half(trials: Sequence[_Trial]) -> Bools:
    """Half of the configurations of each number of topics, or a few, at random."""
    topics = np.array([len(trial.configuration) for trial in trials])
    chosen = np.zeros(len(trials), np.bool_)
    kinds = np.unique(topics).tolist()
    for k in kinds:
        of = np.flatnonzero(topics == k)
        mixed = np.random.default_rng([0, k]).permutation(of)
        chosen[mixed[: min((len(of) + 1) // 2, MOST // len(kinds))]] = True
    return chosen


def _overhead(point: Float64s, start: Overhead) -> Overhead:
    """The overhead at a point of the search. Points below 0 are mirrored: where all of
    them were the same, the search would end there."""
    loop, worker, factor, path, lost = np.abs(point).tolist()
    before = start.receive_ms + start.deliver_ms
    share = start.receive_ms / before if before > 0 else 0.5
    return replace(
        start,
        receive_ms=loop * share,
        deliver_ms=loop * (1 - share),
        worker_ms=worker,
        factor=max(factor, 0.01),
        path_ms=path,
        lost=min(lost, 0.9),
    )


def _errors(trials: Sequence[_Trial], run: Run) -> Float64s:
    """log(simulated / measured) of each topic of each of them."""
    found = [np.log(_simulated(trial, run) / trial.p90_ms) for trial in trials]
    return np.concatenate([np.empty(0), *found])


def _simulated(trial: _Trial, run: Run) -> Float64s:
    """The p90 of each topic: a geometric mean, if there is traffic of several seeds."""
    logs = np.zeros(len(trial.configuration))
    for traffic in trial.traffic:
        found, _ = latencies(trial.configuration, traffic, run)
        logs += np.log([p90(of) for of in found])
    return np.exp(logs / len(trial.traffic))


def _judged(trials: Sequence[_Trial], fit: Bools, run: Run) -> Calibration:
    checks = [trial for trial, use in zip(trials, fit, strict=True) if not use]
    fits = [trial for trial, use in zip(trials, fit, strict=True) if use]

    def judged(some: Sequence[_Trial]) -> Agreement | None:
        if not some:
            return None
        measured = np.concatenate([trial.p90_ms for trial in some])
        return agreement(_errors(some, run), measured)

    topics = sorted({len(trial.configuration) for trial in checks})
    by_topics = {
        k: judged([trial for trial in checks if len(trial.configuration) == k])
        for k in topics
    }
    full = [_is_full(trial.configuration, run) for trial in checks]
    fitted, checked = judged(fits), judged(checks)
    assert fitted is not None and checked is not None
    return Calibration(
        run.overhead,
        fitted,
        checked,
        {k: found for k, found in by_topics.items() if found is not None},
        judged(
            [trial for trial, is_full in zip(checks, full, strict=True) if not is_full]
        ),
        judged([trial for trial, is_full in zip(checks, full, strict=True) if is_full]),
    )


def _is_full(configuration: Configuration, run: Run) -> bool:
    """Whether the cores, or a worker, have at least as much to do as they can."""
    overhead = run.overhead
    rates = run.rate_each * np.array(configuration.publishers) / 1000
    work = np.array(configuration.processing_ms) * overhead.factor + overhead.worker_ms
    loop = overhead.receive_ms + overhead.deliver_ms
    total = float(np.sum(rates * (work + loop)))
    return total >= run.cores or bool((rates * work >= 1).any())
