"""Small data to learn from, and what is learned from it, made once."""

from functools import cache
from typing import Any

import numpy as np

from brokerwise.kernels.latency_model import FEATURES
from brokerwise.latency.design import draw, up_to_load
from brokerwise.latency.models import PaperModel, Queueing, UnifiedModel
from brokerwise.latency.queueing import Overhead, simulate
from brokerwise.latency.regressors import Trees
from brokerwise.latency.samples import Subject
from brokerwise.latency.training import Candidate, Growth, fit_unified, train_paper
from brokerwise.model.latency import LatencyRows

PROCESSING = (2.5, 5.0, 10.0)
QUICK = Candidate(0.8, Growth(rounds=40, least=5))


@cache
def simulated(count: int = 30, most: int = 3, seed: int = 1) -> LatencyRows:
    """So many configurations of each number of topics, on a broker of one core."""
    limit = up_to_load(0.8, processing=PROCESSING, rate_each=4.0)
    drawn = [
        configuration
        for k in range(1, most + 1)
        for configuration in draw(
            count, k, processing=PROCESSING, most=limit, seed=seed
        )
    ]
    cost = Overhead(worker_ms=0.3)
    return simulate(drawn, rate_each=4.0, messages=40, overhead=cost, seed=seed)


@cache
def subject(count: int = 30, most: int = 3) -> Subject:
    return Subject.of(simulated(count, most), 1.0)


@cache
def unified() -> UnifiedModel:
    return fit_unified(subject(), subject().samples.every, QUICK)


@cache
def paper() -> PaperModel:
    return train_paper(subject(), subject().samples.every, seed=0)


def trees(**changed: Any) -> Trees:
    """Two trees: a leaf alone, and one that looks at features 0 and 2."""
    columns: dict[str, Any] = {
        "inputs": len(FEATURES),
        "first": 0.5,
        "tree": np.array([0, 1, 1, 1, 1, 1], np.int32),
        "feature": np.array([0, 0, 0, 2, 0, 0], np.int32),
        "threshold": np.array([0.0, 1.5, 0.0, -3.0, 0.0, 0.0]),
        "left": np.array([0, 1, 0, 3, 0, 0], np.int32),
        "right": np.array([0, 2, 0, 4, 0, 0], np.int32),
        "value": np.array([10.0, 0.0, 1.0, 0.0, 2.0, 4.0]),
    }
    return Trees(**columns | changed)


def small_unified(most: int = 2, **changed: Any) -> UnifiedModel:
    return UnifiedModel(most, Queueing(1.0, 0.1, 1.0, 20_000.0), 0.5, trees(**changed))
