"""A simulated run in plain numbers: for JSON, for tables and for reports."""

from typing import Any

import numpy as np

from brokerwise.runtime.balancing.events import Decision
from brokerwise.runtime.simulation.result import Simulated

_LISTED = 200  # decisions that a report lists


def figures(run: Simulated) -> dict[str, Any]:
    """What a run comes to. Loads are in bytes a second; `max_load`, `mean_load` and
    `cov` are means over time, what ends in `_end` is of the last moment."""
    moved = len({move.user for move in run.moves})
    return {
        "policy": run.policy,
        "placement": run.placement,
        "max_load": _rounded(run, float(run.max_load.mean())),
        "mean_load": _rounded(run, float(run.mean_load.mean())),
        "cov": float(run.cov.mean()),
        "max_load_end": _rounded(run, int(run.max_load[-1])),
        "mean_load_end": _rounded(run, float(run.mean_load[-1])),
        "cov_end": float(run.cov[-1]),
        "moves": len(run.moves),
        "moved_users": moved,
        "decisions": sum(bool(decision.moves) for decision in run.decisions),
        "seconds_between_moves": run.least_seconds_between_moves(),
        "bound": _rounded(run, run.bound),
        "gap": run.gap,
        "load": _rounded(run, int(run.loads[-1].sum())),
        "mind": run.mind,
        **_sizes(run),
    }


def over_time(run: Simulated) -> dict[str, Any]:
    """What plots are made from; loads in bytes a second, times in minutes."""
    return {
        "minutes": (run.times / 60).round(4).tolist(),
        "loads": (run.loads.T / run.period_seconds).round(1).tolist(),
        "mean": (run.mean_load / run.period_seconds).round(1).tolist(),
        "cov": run.cov.round(6).tolist(),
        "moves": run.moves_at.tolist(),
        "sessions_begin": run.sessions[0].tolist(),
        "sessions_end": run.sessions[-1].tolist(),
        "decisions": [_told(d) for d in run.decisions[-_LISTED:]],
    }


def _sizes(run: Simulated) -> dict[str, Any]:
    end = run.end
    _, _, pairs = end.runs(end.places)
    wanted = len(np.unique(end.wanted.topics))
    return {
        "brokers": end.brokers,
        "sessions": end.sessions,
        "topics": wanted,
        "pairs": end.wanted.pairs,
        # to how many brokers a topic comes, on average
        "spread": len(pairs) / wanted if wanted else 0.0,
    }


def _told(decision: Decision) -> dict[str, Any]:
    answer = decision.rebalancing
    return {
        "at": decision.at,
        "moves": len(decision.moves),
        "reason": decision.reason,
        "cov_before": None if answer is None else answer.cov_before,
        "cov_after": None if answer is None else answer.cov_after,
    }


def _rounded(run: Simulated, load: float) -> float:
    """In bytes a second; whole where the period is one."""
    return (
        round(load) if run.period_seconds == 1 else round(load / run.period_seconds, 3)
    )
