"""Table I on measured latencies of our own broker."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from brokerwise.experiments.colocate_settings import MeasuredCell
from brokerwise.latency.drawing import most_publishers
from brokerwise.latency.evaluation import Evaluation, Splits, Target, evaluate
from brokerwise.latency.fitting import ended_early
from brokerwise.latency.learners import learners
from brokerwise.latency.models import EVALUATED
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.pipeline.latency_models import gather
from brokerwise.storage.latency_data import read_latency_data
from brokerwise.storage.place import Place

Record = dict[str, Any]

TARGET_MS = 250.0
"""The paper's second, four times faster; used where data does not say its own."""
_SHARE = 0.2  # of the configurations that are held back


def measured_cells(path: Path, splits: int, seed: int) -> list[MeasuredCell]:
    """A cell for each kind. Raises InputError for data that cannot be learned from."""
    header = read_latency_data(Place(str(path))).header
    gather([Place(str(path))])
    return [MeasuredCell(kind, path, header.digest, splits, seed) for kind in EVALUATED]


def learn_measured(cell: MeasuredCell) -> Record:
    place = Place(str(cell.path))
    header = read_latency_data(place).header
    gathered = gather([place])
    subject = gathered.subject
    target = Target(float(header.settings.get("target_ms") or TARGET_MS))
    start = time.perf_counter()
    with ended_early() as unfinished:
        found = evaluate(
            subject.samples,
            learners(subject)[cell.kind],
            Splits(cell.splits, _SHARE, cell.seed),
            target,
        )
    return {
        **cell.inputs(),
        "source": header.source,
        "cores": subject.cores,
        "target_ms": target.ms,
        "margin": target.margin,
        "held_out_share": _SHARE,
        "late": gathered.late,
        "sets": [
            {"topics": k, "configurations": count, **found.as_json(k)}
            for k, count in subject.samples.sizes().items()
        ],
        "most": _most(subject.rows, target.ms, header.settings.get("rate_each")),
        "converged": not unfinished,
        "seconds": round(time.perf_counter() - start, 3),
        "problems": _problems(found),
    }


def _most(rows: LatencyRows, target_ms: float, rate_each: Any) -> dict[str, float]:
    """The largest rate of a topic alone that meets the target, by processing time."""
    each = float(rate_each or 1.0)
    try:
        found = most_publishers(rows, target_ms, rate_each=each)
    except InputError:
        return {}
    return {f"{p:g}": publishers * each for p, publishers in found.items()}


def _problems(found: Evaluation) -> list[str]:
    scores = [*found.train.items(), *found.test.items()]
    wrong = [k for k, values in scores if not np.isfinite(values).all()]
    return [f"k = {k}: a score is no number" for k in sorted(set(wrong))]
