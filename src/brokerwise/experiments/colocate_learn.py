"""One model of simulated data: learned, scored, and kept."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from brokerwise.experiments.colocate_checks import learned_problems
from brokerwise.experiments.colocate_data import (
    PARTS,
    TEST,
    TRAIN,
    VALIDATION,
    Lots,
    lots,
)
from brokerwise.experiments.colocate_learned import (
    plain_regressor,
    plain_unified,
    regressor_of,
    unified_of,
)
from brokerwise.experiments.colocate_published import PROCESSING_MS, TARGET_MS
from brokerwise.experiments.colocate_settings import DRAWN, LearnCell
from brokerwise.latency.evaluation import Predict, r2, verdicts
from brokerwise.latency.models import PAPER_200, UNIFIED, paper_features
from brokerwise.latency.regressors import Regressor
from brokerwise.latency.samples import Subject
from brokerwise.latency.training import (
    ITERATIONS,
    SHORT_ITERATIONS,
    ended_early,
    fit_paper,
    train_unified,
)
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.planners.colocate.problem import DEFAULT_MARGIN

Record = dict[str, Any]
Alone = Callable[[Float64s, Float64s], Float64s]
"""From processing times and rates of topics alone to their p90s (ms)."""

RATES = 110
"""The largest rate of a topic alone that is looked at."""

_MOST_LOG = 20.0  # days: a polynomial knows no end beyond what it has seen


def learn(cell: LearnCell) -> Record:
    """What it comes to; with all configurations also the model itself."""
    made = lots(cell.setting, cell.seed, cell.numbers, cell.size)
    start = time.perf_counter()
    with ended_early() as unfinished:
        model, predict, again, alone = _learned(cell, made)
    seconds = time.perf_counter() - start
    found = {part: predict(rows) for part, rows in made.parts.items() if len(rows)}
    record = {
        **cell.inputs(),
        "seconds": round(seconds, 3),
        "converged": not unfinished,
        "scores": {str(k): _scores(made, found, k) for k in cell.numbers},
        "problems": learned_problems(made, found, again, cell),
    }
    if cell.size:
        return record
    return record | {
        "verdicts": {str(k): _verdicts(made, found, k) for k in cell.numbers},
        "points": {str(k): _points(made, found, k) for k in cell.numbers if k in DRAWN},
        "single": _alone(made, alone) if 1 in cell.numbers else None,
        "model": model,
    }


def _learned(
    cell: LearnCell, made: Lots
) -> tuple[Record, Predict, Predict, Alone | None]:
    """The model as JSON, what it predicts for rows, what it predicts once it was read
    again, and what it says of topics alone."""
    subject, rows = made.subject, made.parts[TRAIN]
    if cell.kind != UNIFIED:
        k = cell.topics
        iterations = SHORT_ITERATIONS if cell.kind == PAPER_200 else ITERATIONS
        logs = subject.samples.logs[rows]
        part = fit_paper(_inputs(subject, rows, k), logs, k, cell.seed, iterations)
        kept = plain_regressor(part)
        read = regressor_of(kept)
        return (
            kept,
            lambda some: part.predict(_inputs(subject, some, k)),
            lambda some: read.predict(_inputs(subject, some, k)),
            _alone_by(part) if k == 1 else None,
        )
    model, _ = train_unified(subject, rows, seed=cell.seed)
    kept = plain_unified(model)
    known = unified_of(kept)
    return (
        kept,
        lambda some: subject.predicted(model, some),
        lambda some: subject.predicted(known, some),
        lambda p, r: model.p90_ms(p[:, None], r[:, None])[:, 0],
    )


def _alone_by(part: Regressor) -> Alone:
    def predict(processing: Float64s, rates: Float64s) -> Float64s:
        rows = paper_features(processing[:, None], rates[:, None])
        logs = np.clip(part.predict(rows), -_MOST_LOG, _MOST_LOG)
        return np.asarray(np.exp(logs), np.float64)

    return predict


def _inputs(subject: Subject, rows: Int64s, k: int) -> Float64s:
    """The paper's features of rows, which hold whole configurations of k topics."""
    taken = subject.rows
    return paper_features(
        taken.processing_ms[rows].reshape(-1, k),
        taken.rate_per_second[rows].reshape(-1, k),
    )


def _scores(made: Lots, found: Mapping[str, Float64s], k: int) -> Record:
    """R^2 and rows of each part."""
    scored: Record = {}
    for part in PARTS:
        rows = made.of(part, k)
        if len(rows):
            logs = made.subject.samples.logs[rows]
            scored[part] = round(r2(logs, _predicted(made, found, part, k)), 5)
            scored[f"{part}_rows"] = len(rows)
    return scored


def _predicted(made: Lots, found: Mapping[str, Float64s], part: str, k: int) -> Any:
    of = made.subject.samples.topics[made.parts[part]] == k
    return found[part][of]


def _held(made: Lots, found: Mapping[str, Float64s], k: int) -> tuple[Any, Any]:
    """Logarithms of what was not learned from, and what is predicted."""
    parts = [part for part in (TEST, VALIDATION) if len(made.of(part, k))]
    rows = np.concatenate([made.of(part, k) for part in parts])
    predicted = [_predicted(made, found, part, k) for part in parts]
    return made.subject.samples.logs[rows], np.concatenate(predicted)


def _verdicts(made: Lots, found: Mapping[str, Float64s], k: int) -> Record:
    logs, predicted = _held(made, found, k)
    return {
        "rows": len(logs),
        "without_margin": verdicts(logs, predicted, TARGET_MS, 0.0).as_json(),
        "with_margin": verdicts(logs, predicted, TARGET_MS, DEFAULT_MARGIN).as_json(),
    }


def _points(made: Lots, found: Mapping[str, Float64s], k: int) -> Record:
    logs, predicted = _held(made, found, k)
    return {"observed_ms": _ms(logs), "predicted_ms": _ms(predicted)}


def _ms(logs: Float64s) -> list[float]:
    return [round(float(value), 2) for value in np.exp(logs)]


def _alone(made: Lots, predict: Alone | None) -> Record:
    """Figure 2a: what was seen, what is predicted, and the largest rates."""
    assert predict is not None
    rows = made.subject.rows.take(np.flatnonzero(made.subject.samples.topics == 1))
    rates = np.arange(1.0, RATES + 1)
    curves = {p: predict(np.full(RATES, p), rates) for p in PROCESSING_MS}
    limit = TARGET_MS * (1 - DEFAULT_MARGIN)
    return {
        "observed": {
            f"{p:g}": _observed(rows.rate_per_second[of], rows.p90_ms[of])
            for p in PROCESSING_MS
            for of in [rows.processing_ms == p]
        },
        "predicted": {f"{p:g}": _ms(np.log(c)) for p, c in curves.items()},
        "most": {f"{p:g}": largest(c, TARGET_MS) for p, c in curves.items()},
        "most_planned": {f"{p:g}": largest(c, limit) for p, c in curves.items()},
    }


def _observed(rates: Float64s, p90_ms: Float64s) -> Record:
    order = np.argsort(rates)
    return {
        "rate": rates[order].tolist(),
        "p90_ms": [round(float(value), 2) for value in p90_ms[order]],
    }


def largest(curve: Float64s, limit: float) -> int:
    """The largest whole rate, from 1, up to which a curve stays within a limit."""
    over = np.flatnonzero(curve > limit)
    return int(over[0]) if len(over) else len(curve)
