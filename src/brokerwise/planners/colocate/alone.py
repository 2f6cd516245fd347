"""Topics on brokers of their own: which miss their targets even so, into how many
replicas they must be cut, and why there is no plan if that does not help.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.model.units import told_apart
from brokerwise.planners.colocate.problem import Problem

MOST_REPLICAS = 1000
"""A topic is cut into no more: needing more is a sign that its rate is a mistake."""

LEAST_RATE = 1e-6
"""Messages a second, one in eleven days: a topic that misses its target even so is
slow, not frequent."""

_STEPS = 32  # rates tried at once
_ROUNDS = 6  # each narrows the largest rate to one of the steps: to 1e-9 of it


def alone(problem: Problem, topics: Int64s, rates: Float64s) -> Bools:
    """Whether topics meet their targets on brokers of their own at these rates."""
    table = problem.topics
    p90 = problem.predictor.p90_ms(table.processing_ms[topics, None], rates[:, None])
    within = p90[:, 0] <= table.target_ms[topics] * (1 - problem.margin)
    for seen in problem.met:
        for topic, rate in zip(seen.topics, seen.rates, strict=True):
            within |= (topics == topic) & (rates <= rate)
    for seen in problem.missed:
        if len(seen.topics) == 1:
            within &= (topics != seen.topics[0]) | (rates < seen.rates[0])
    return np.asarray(within, np.bool_)


def misses(problem: Problem, replicas: Int64s | None = None) -> Int64s:
    """The topics that miss their targets alone, or whose replicas do."""
    every = np.arange(len(problem.topics))
    rates = problem.topics.rate_per_second
    return np.flatnonzero(
        ~alone(problem, every, rates if replicas is None else rates / replicas)
    )


def replicas_needed(problem: Problem, topics: Int64s) -> Int64s:
    """Into how many equal replicas, by rate, each of these must be cut so that each
    meets its target alone: the fewest; 0 where no number up to `MOST_REPLICAS` does."""
    needed = np.zeros(len(topics), np.int64)
    rates = problem.topics.rate_per_second[topics]
    left, first = np.arange(len(topics)), 1
    while len(left) and first <= MOST_REPLICAS:
        counts = np.arange(first, min(2 * first, MOST_REPLICAS + 1))
        each = rates[left, None] / counts
        fits = alone(problem, np.repeat(topics[left], len(counts)), each.ravel())
        fits = fits.reshape(each.shape)
        some = fits.any(axis=1)
        needed[left[some]] = counts[fits[some].argmax(axis=1)]
        left, first = left[~some], 2 * first
    return needed


def largest_rate(problem: Problem, topic: int) -> float:
    """The largest rate at which the topic meets its target alone, to a billionth of
    it; 0 if it misses down to `LEAST_RATE`. Where a model is not monotone: the
    largest after halving its own rate again and again."""

    def fits(rates: Float64s) -> Bools:
        return alone(problem, np.full(len(rates), topic), rates)

    halved = _halved(float(problem.topics.rate_per_second[topic]))
    found = np.flatnonzero(fits(halved))
    if not len(found):
        return 0.0
    low, high = halved[found[0]], halved[max(0, found[0] - 1)]
    for _ in range(_ROUNDS):
        tried = np.linspace(low, high, _STEPS + 1)
        at = int(np.argmin(fits(tried)))
        low, high = tried[max(0, at - 1)], tried[at]
    return float(low)


def _halved(rate: float) -> Float64s:
    """The rate, half of it, and so on, to the least rate and to that of a replica, if
    there are as many as can be."""
    times = max(np.log2(rate) - np.log2(LEAST_RATE), np.log2(MOST_REPLICAS))
    return np.ldexp(rate, -np.arange(int(np.ceil(times)) + 1))


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
