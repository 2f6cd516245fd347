"""What `brokerwise colocate --json` prints, and what reports are made from."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brokerwise.pipeline.colocate import Colocated
    from brokerwise.pipeline.feedback import Feedback
    from brokerwise.storage.place import Place

_FIGURES = (
    *("load", "replicas", "split", "ffd", "hybrid", "lfs", "bounds"),
    *("predicted", "agreed", "contradicted", "monotone", "moves"),
)


def colocate_result(found: "Colocated", out: "Place") -> dict[str, Any]:
    """One plan and what limits it; where there is none, its figures are null and
    `reason` says why, `remedy` what would help."""
    plan, topics = found.plan, found.topics
    result = {
        "kind": plan.kind,
        "status": plan.status.value,
        "objective": plan.objective,
        "bound": plan.bound,
        "gap": plan.gap,
        "algorithm": plan.algorithm,
        "brokers": plan.objective,
        "topics": len(topics),
        "left_out": found.left_out,
        **{name: plan.figures.get(name) for name in _FIGURES},
        "k": plan.k,
        "margin": plan.margin,
        "targets_ms": sorted(set(topics.target_ms.tolist()))[:10],
        "full": None if plan.objective is None else _full(found),
        "observed": None if found.feedback is None else _observed(found.feedback),
        "outside": int(np.count_nonzero(found.model.outside(topics))),
        "model_source": found.model.source,
        "source_digest": found.source.digest,
        "model_digest": found.model.header.digest,
        "options": dict(plan.options),
        "seed": plan.seed,
        "seconds": dict(plan.seconds),
        "out": None if found.header is None else str(out),
        "digest": None if found.header is None else found.header.digest,
    }
    if found.header is not None:
        return result
    return result | {"reason": plan.reason, "remedy": plan.remedy}


def _observed(feedback: "Feedback") -> dict[str, Any]:
    """What was seen of the brokers of the plan before."""
    return {
        "plan": feedback.follows.plan.path,
        "data": feedback.follows.data.path,
        "brokers": feedback.measured,
        "brokers_missed": sum(bool(late) for late in feedback.late.values()),
        "topics_missed": len({t for late in feedback.late.values() for t in late}),
    }


def _full(found: "Colocated") -> int:
    """Brokers that have as many topics as they may."""
    counts = np.bincount(found.plan.replicas.broker)
    return int(np.count_nonzero(counts == found.plan.k))
