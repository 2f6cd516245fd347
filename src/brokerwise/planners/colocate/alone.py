"""Topics on brokers of their own: which miss their targets even so, at which rates they
would not, and into how many replicas they must be cut."""

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int64s
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
