"""Whether models and plans are what they say, counted again.

Nothing of the planners is used here: a plan is judged by its rows, and by what the
model predicts when it is asked again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from brokerwise.experiments.colocate_data import TRAIN, Lots
from brokerwise.experiments.colocate_settings import LearnCell
from brokerwise.latency.evaluation import Predict
from brokerwise.model.arrays import Float64s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.latency import Predictor

_EXACT = 1e-9
_ROUNDING = 1e-6


def learned_problems(
    made: Lots, found: Mapping[str, Float64s], again: Predict, cell: LearnCell
) -> list[str]:
    """`found` is what the model predicts for each part, `again` what it predicts once
    it was written and read."""
    return [
        *_shared_problems(made),
        *_kept_problems(made, found, again),
        *_number_problems(made, cell),
    ]


def _shared_problems(made: Lots) -> Iterator[str]:
    """No configuration may be on two sides."""
    group = made.subject.samples.group
    parts = {name: set(group[rows].tolist()) for name, rows in made.parts.items()}
    for one, other in combinations(parts, 2):
        both = len(parts[one] & parts[other])
        if both:
            yield f"{both} configurations are for {one} and for {other}"


def _kept_problems(
    made: Lots, found: Mapping[str, Float64s], again: Predict
) -> Iterator[str]:
    for part, predicted in found.items():
        apart = float(np.abs(again(made.parts[part]) - predicted).max())
        if not apart <= _EXACT:
            yield (f"the model, read again, differs by {apart:.3g} on the {part} data")


def _number_problems(made: Lots, cell: LearnCell) -> Iterator[str]:
    for k in cell.numbers:
        rows = len(made.of(TRAIN, k))
        if k > 1 and cell.size and rows != cell.size * k:
            yield f"k = {k}: learned from {rows} rows, not from {cell.size * k}"


def plan_problems(
    plan: ColocationPlan, topics: TopicTable, predictor: Predictor, k: int
) -> list[str]:
    """Every topic is placed once, no broker has more than k, all are predicted within
    their targets less the margin, and no bound is above the number of brokers."""
    if plan.objective is None:
        return [f"has no plan: {plan.reason}"]
    return [
        *_place_problems(plan, topics, k),
        *_prediction_problems(plan, topics, predictor),
    ]


def brokers_of(plan: ColocationPlan) -> dict[int, list[int]]:
    """The topics of each broker."""
    found = defaultdict(list)
    rows = zip(plan.replicas.topic.tolist(), plan.replicas.broker.tolist(), strict=True)
    for topic, broker in rows:
        found[broker].append(topic)
    return dict(sorted(found.items()))


def _place_problems(plan: ColocationPlan, topics: TopicTable, k: int) -> Iterator[str]:
    times = Counter(plan.replicas.topic.tolist())
    wrong = [t for t in {*range(len(topics)), *times} if times[t] != 1]
    if wrong:
        yield f"topic {min(wrong)} is placed {times[min(wrong)]} times"
    brokers = brokers_of(plan)
    most = max(map(len, brokers.values()), default=0)
    if most > k:
        yield f"a broker has {most} topics, more than {k}"
    if len(brokers) != plan.objective:
        yield f"says {plan.objective} brokers, but they are {len(brokers)}"
    if plan.bound is None or plan.bound > len(brokers):
        yield f"says that no plan has fewer than {plan.bound}, but has {len(brokers)}"
    if not np.array_equal(
        plan.replicas.rate_per_second, topics.rate_per_second[plan.replicas.topic]
    ):
        yield "a topic does not have the rate that it was asked for"


def _prediction_problems(
    plan: ColocationPlan, topics: TopicTable, predictor: Predictor
) -> Iterator[str]:
    said = dict(
        zip(
            plan.replicas.topic.tolist(),
            plan.replicas.predicted_p90_ms.tolist(),
            strict=True,
        )
    )
    for broker, members in brokers_of(plan).items():
        p90 = predictor.p90_ms(
            topics.processing_ms[members][None, :],
            topics.rate_per_second[members][None, :],
        )[0]
        limit = topics.target_ms[members] * (1 - plan.margin)
        if (p90 > limit * (1 + _EXACT)).any():
            at = int(np.argmax(p90 / limit))
            yield (
                f"topic {members[at]} on broker {broker} is predicted {p90[at]:,.1f} "
                f"ms, more than {limit[at]:,.1f} ms"
            )
            return
        if not np.allclose(p90, [said[t] for t in members], rtol=_ROUNDING):
            yield f"predictions on broker {broker} are not what the model says"
            return


def request_problems(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Of all plans of one request: `search` has no more brokers than any other, and
    no bound is above any plan."""
    brokers = {run["label"]: run["brokers"] for run in runs}
    if not brokers or None in brokers.values():
        return
    least = min(brokers.values())
    if brokers.get("search", least) > least:
        other = min(brokers, key=lambda label: brokers[label])
        yield f"search has {brokers['search']} brokers, {other} {least}"
    for run in runs:
        if run["bound"] > least:
            yield (
                f"{run['label']} says that no plan has fewer than {run['bound']} "
                f"brokers, but there is one with {least}"
            )


def monotone_problems(
    predictor: Predictor, processing: Sequence[float], most: Sequence[int], seed: int
) -> Iterator[str]:
    """Removing a topic must not raise any prediction: asked of random sets."""
    random = np.random.default_rng(seed)
    for k in range(2, predictor.most_topics + 1):
        picks = random.integers(0, len(processing), (200, k))
        p = np.array(processing)[picks]
        r = 1.0 + np.floor(random.random(picks.shape) * np.array(most)[picks])
        more, fewer = predictor.p90_ms(p, r), predictor.p90_ms(p[:, :-1], r[:, :-1])
        worse = int((fewer > more[:, :-1] * (1 + _EXACT)).any(axis=1).sum())
        if worse:
            yield f"removing a topic of {k} raises a prediction in {worse} of 200 sets"
