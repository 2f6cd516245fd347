"""Why there is no plan, in words and numbers, and what would help."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.units import told_apart
from brokerwise.planners.colocate.alone import (
    LEAST_RATE,
    MOST_REPLICAS,
    largest_rate,
    replicas_needed,
)
from brokerwise.planners.colocate.problem import Problem


@dataclass(frozen=True)
class Refusal:
    """Why there is no plan. `remedy` is what gives one, or is needed first: `split`,
    or where no cut helps, a lower `rate` or a higher `target` of the topic that
    `reason` names."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class _Slow:
    """A topic that misses its target alone.

    `replicas` would meet it, 0 if no number up to `MOST_REPLICAS` does; `most_rate`
    is the largest rate at which it would, 0 if there is none; `least_ms` is its p90
    when it sends next to nothing. One that is predicted within its limit was seen to
    miss.
    """

    topic: int
    predicted_ms: float
    least_ms: float
    most_rate: float
    replicas: int


def refusal(problem: Problem, topics: Sequence[int]) -> Refusal:
    """Of topics that miss alone, of which there is at least one. Speaks of the first
    that no cut helps, if there is any: whatever becomes of the others, it rules out
    a plan."""
    needed = replicas_needed(problem, np.array(topics))
    worst = int(np.argmin(needed > 0))
    found = _slow(problem, topics[worst], int(needed[worst]))
    reason = f"{_missed(problem, found)}; {_way_out(problem, found)}"
    more = len(topics) - 1
    if more:
        others = "topic misses" if more == 1 else "topics miss"
        reason += f"; {more:,} more {others} alone"
    return Refusal(reason, _remedy(found))


def _slow(problem: Problem, topic: int, replicas: int) -> _Slow:
    table = problem.topics
    rate = float(table.rate_per_second[topic])
    p90 = problem.predictor.p90_ms(
        np.full((2, 1), table.processing_ms[topic]), np.array([[rate], [LEAST_RATE]])
    )
    most = largest_rate(problem, topic)
    if replicas:
        most = max(most, rate / replicas)
    return _Slow(topic, float(p90[0, 0]), float(p90[1, 0]), most, replicas)


def _limit(problem: Problem, topic: int) -> float:
    return float(problem.topics.target_ms[topic]) * (1 - problem.margin)


def _shown(ms: float, more: int = 0) -> str:
    return f"{ms:,.{more}f}" if ms >= 1000 else f"{ms:,.{4 + more}g}"


def _missed(problem: Problem, found: _Slow) -> str:
    table, at = problem.topics, found.topic
    rate, target = float(table.rate_per_second[at]), float(table.target_ms[at])
    limit = _limit(problem, at)
    said = f'topic "{table.names[at]}" misses its target on a broker of its own: '
    if found.predicted_ms <= limit:
        return f"{said}it was seen to"
    predicted, most = told_apart(_shown, found.predicted_ms, limit)
    return (
        f"{said}its p90 at {rate:,.6g} messages a second is predicted to be "
        f"{predicted} ms, the most that is allowed is {most} ms (its "
        f"target of {target:,.6g} ms less {100 * problem.margin:.3g} %)"
    )


def _way_out(problem: Problem, found: _Slow) -> str:
    if not found.most_rate:
        return (
            "no rate is low enough: its processing alone takes too long, "
            f"{_shown(found.least_ms)} ms at best"
        )
    if found.predicted_ms <= _limit(problem, found.topic):
        said = f"only rates below {found.most_rate:,.4g} a second were not seen to"
    else:
        said = f"the largest rate that works is {found.most_rate:,.4g} a second"
    if found.replicas:
        return f"{said}, so {found.replicas:,} replicas would be enough"
    return (
        f"{said}, so more than {MOST_REPLICAS:,} replicas would be needed, and a topic "
        "is cut into no more"
    )


def _remedy(found: _Slow) -> str:
    if found.replicas:
        return "split"
    return "rate" if found.most_rate else "target"
