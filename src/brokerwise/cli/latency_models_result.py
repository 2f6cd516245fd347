"""What `brokerwise latency train` and `evaluate` print as JSON, and what reports are
made from."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brokerwise.pipeline.latency_models import (
        EvaluationOptions,
        EvaluationResult,
        Outcome,
        TrainingData,
        TrainingResult,
    )


def train_result(trained: "TrainingResult") -> dict[str, Any]:
    header = trained.header
    scores = header.scores
    return {
        "kind": "latency train",
        "model_kind": header.kind,
        "most_topics": header.most_topics,
        "by_topics": plain(scores["by_topics"]),
        "held_out_share": scores["held_out_share"],
        "target_ms": scores["target_ms"],
        "margin": scores["margin"],
        "candidates": plain([dict(each) for each in header.candidates]),
        "parameters": {k: v for k, v in header.parameters.items() if k != "features"},
        "ranges": {name: list(ends) for name, ends in header.ranges.items()},
        "seed": header.seed,
        **_gathered(trained.gathered),
        "digest": header.digest,
        "version": header.version,
    }


def evaluate_result(
    found: "EvaluationResult", options: "EvaluationOptions"
) -> dict[str, Any]:
    from importlib.metadata import version

    target, splits = options.target, options.splits
    learned = found.model is None
    result = {
        "kind": "latency evaluate",
        "splits": splits.count if learned else None,
        "test_share": splits.share if learned else None,
        "seed": splits.seed,
        "target_ms": None if target is None else target.ms,
        "margin": None if target is None else target.margin,
        "sets": [_outcome(each) for each in found.outcomes],
        "left_out": found.left_out,
        "version": version("brokerwise"),
    }
    if found.gathered is not None:
        result |= _gathered(found.gathered)
    else:
        tables = [
            {"path": str(t.place), "digest": t.digest, "rows": len(t)}
            for t in found.tables
        ]
        result |= {"sources": tables, "remarks": [], "late": 0, "larger": 0}
    if found.model is not None:
        header = found.model.header
        result |= {"model_kind": header.kind, "model_digest": header.digest}
    return result


def details(found: "EvaluationResult") -> dict[str, Any]:
    """What only a report shows: what was seen, and what was predicted."""
    return {
        "points": [
            {
                "name": each.name,
                "topics": each.topics,
                "observed_ms": each.observed_ms.tolist(),
                "predicted_ms": {k: v.tolist() for k, v in each.predicted_ms.items()},
            }
            for each in found.outcomes
        ]
    }


def train_details(trained: "TrainingResult") -> dict[str, Any]:
    """What only a report shows: what was held back, and what was predicted."""
    import numpy as np

    check, samples = trained.check, trained.gathered.subject.samples
    topics, logs = samples.topics[check.rows], samples.logs[check.rows]
    return {
        "points": [
            {
                "name": str(k),
                "topics": k,
                "observed_ms": np.exp(logs[topics == k]).tolist(),
                "predicted_ms": {
                    trained.header.kind: np.exp(check.predicted[topics == k]).tolist()
                },
            }
            for k in np.unique(topics).tolist()
        ]
    }


def plain(value: Any) -> Any:
    """JSON has no NaN: a score of nothing is null."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _outcome(outcome: "Outcome") -> dict[str, Any]:
    return {
        "name": outcome.name,
        "topics": outcome.topics,
        "configurations": outcome.configurations,
        "kinds": plain(dict(outcome.kinds)),
        "curves": plain(dict(outcome.curves)),
    }


def _gathered(gathered: "TrainingData") -> dict[str, Any]:
    return {
        "sources": [asdict(each) for each in gathered.sources],
        "remarks": list(gathered.remarks),
        "late": gathered.late,
        "larger": gathered.larger,
    }
