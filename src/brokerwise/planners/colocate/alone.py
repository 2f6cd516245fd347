"""Topics on brokers of their own: which miss their targets even so, at which rates they
would not, and into how many replicas they must be cut."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.planners.colocate.problem import Problem

MOST_REPLICAS = 1000
"""More would be no help: a topic that needs so many is slow, not frequent."""

_STEPS = 32  # rates tried at once
_ROUNDS = 6  # each narrows the largest rate to one of the steps: to 1e-9 of the rate


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
    """The largest rate up to which the topic meets its target alone, to a billionth
    of its own; 0 if there is none."""
    low, high = 0.0, float(problem.topics.rate_per_second[topic])
    for _ in range(_ROUNDS):
        tried = np.linspace(low, high, _STEPS + 1)[1:]
        fits = alone(problem, np.full(_STEPS, topic), tried)
        if fits.all():
            return float(tried[-1])
        at = int(np.argmin(fits))
        low, high = low if at == 0 else float(tried[at - 1]), float(tried[at])
    return low


@dataclass(frozen=True)
class Slow:
    """A topic that misses its target alone.

    `replicas` would meet it, 0 if no number does; `most_rate` is the largest rate at
    which it would, 0 if there is none. One that is predicted within its limit was
    seen to miss.
    """

    topic: int
    predicted_ms: float
    most_rate: float
    replicas: int


def slow(problem: Problem, topic: int) -> Slow:
    table, one = problem.topics, slice(topic, topic + 1)
    p90 = problem.predictor.p90_ms(
        table.processing_ms[one, None], table.rate_per_second[one, None]
    )
    needed = replicas_needed(problem, np.array([topic]))
    return Slow(topic, float(p90[0, 0]), largest_rate(problem, topic), int(needed[0]))


def refusal(problem: Problem, topics: Sequence[int]) -> str:
    """Why there is no plan: the topics, of which there is at least one, miss alone."""
    found = slow(problem, topics[0])
    table, at = problem.topics, found.topic
    rate, target = float(table.rate_per_second[at]), float(table.target_ms[at])
    limit = target * (1 - problem.margin)
    said = f'topic "{table.names[at]}" misses its target on a broker of its own: '
    if found.predicted_ms <= limit:
        said += "it was seen to"
    else:
        said += (
            f"its p90 at {rate:,.6g} messages a second is predicted to be "
            f"{found.predicted_ms:,.4g} ms, the most that is allowed is {limit:,.4g} "
            f"ms (its target of {target:,.6g} ms less {100 * problem.margin:.3g} %)"
        )
    said += f"; {_remedy(found, seen=found.predicted_ms <= limit)}"
    more = len(topics) - 1
    if more:
        others = "topic misses" if more == 1 else "topics miss"
        said += f"; {more:,} more {others} alone"
    return said


def _remedy(found: Slow, *, seen: bool) -> str:
    if not found.most_rate:
        return "no rate is low enough: its processing alone takes too long"
    if seen:
        said = f"only rates below {found.most_rate:,.4g} a second were not seen to"
    else:
        said = f"the largest rate that works is {found.most_rate:,.4g} a second"
    if found.replicas:
        said += f", so {found.replicas:,} replicas would be enough"
    return said
