"""The assignment of a co-location plan, counted again: replicas, brokers, loads."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from brokerwise.auditing.colocation_claims import ColocationClaims, Rows
from brokerwise.auditing.costs import RELATIVE
from brokerwise.model.arrays import Int64s
from brokerwise.model.colocation import TopicTable
from brokerwise.model.plan import Status

_OTHER_PLANS = ("ffd", "lfs", "hybrid")
"""Figures that are the brokers of other plans for the same topics."""


def brokers_of(rows: Rows) -> dict[int, Int64s]:
    """The rows of each broker."""
    order = np.argsort(rows.broker, kind="stable")
    numbers, starts = np.unique(rows.broker[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(numbers) else []
    return dict(zip(numbers.tolist(), parts, strict=True))


def loads_of(rows: Rows, topics: TopicTable) -> dict[int, float]:
    """Cores of processing of each broker, of topics that exist."""
    loads = {}
    for broker, members in brokers_of(rows).items():
        known = [m for m in members if 0 <= rows.topic[m] < len(topics)]
        spent = (topics.processing_ms[rows.topic[m]] * rows.rate[m] for m in known)
        loads[broker] = math.fsum(spent) / 1000
    return loads


def wrong_replicas(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    """Topics that are not there exactly once, or whose replicas do not make them up."""
    rows = claims.rows
    if not claims.feasible:
        if len(rows):
            yield f"{len(rows):,} rows in a plan that is {claims.status}"
        return
    wrong = (rows.topic < 0) | (rows.topic >= len(topics))
    for topic in rows.topic[wrong].tolist():
        yield f"topic {topic:,} does not exist"
    keys = list(zip(rows.topic.tolist(), rows.replica.tolist(), strict=True))
    if keys != sorted(keys):
        yield "rows are not in the order of topics and replicas"
    for topic in range(len(topics)):
        yield from _wrong_replicas(claims, topics, topic)


def _wrong_replicas(
    claims: ColocationClaims, topics: TopicTable, topic: int
) -> Iterator[str]:
    rows = claims.rows
    own = np.flatnonzero(rows.topic == topic)
    name = f'topic "{topics.names[topic]}"'
    if not len(own):
        yield f"{name} is on no broker"
        return
    numbers = rows.replica[own].tolist()
    if sorted(numbers) != list(range(len(own))):
        yield f"{name} has replicas {numbers}, expected each number from 0 once"
    total, rate = math.fsum(rows.rate[own]), float(topics.rate_per_second[topic])
    if not math.isclose(total, rate, rel_tol=RELATIVE) or (rows.rate[own] <= 0).any():
        yield f"{name}: its replicas have rate {total:g} in all, the topic {rate:g}"
    if rows.target is not None:
        for stated in set(rows.target[own].tolist()) - {float(topics.target_ms[topic])}:
            yield (
                f"{name}: target stated {stated:g} ms, expected "
                f"{topics.target_ms[topic]:g} ms"
            )


def wrong_sharing(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    """Brokers with too many topics, or with two replicas of one."""
    rows = claims.rows
    for broker, members in brokers_of(rows).items():
        if len(members) > claims.k:
            yield f"broker {broker:,} has {len(members):,} topics, k is {claims.k:,}"
        held, counts = np.unique(rows.topic[members], return_counts=True)
        for topic in held[counts > 1].tolist():
            known = 0 <= topic < len(topics)
            name = f'"{topics.names[topic]}"' if known else f"{topic:,}"
            yield f"broker {broker:,} has several replicas of topic {name}"


def wrong_brokers(rows: Rows) -> Iterator[str]:
    """Numbers of brokers that are not those from 0."""
    numbers = np.unique(rows.broker)
    if not np.array_equal(numbers, np.arange(len(numbers))):
        yield (
            f"{len(numbers):,} brokers have topics, numbered from {numbers[0]:,} to "
            f"{numbers[-1]:,}, expected from 0 without a gap"
        )


def wrong_loads(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    """Rows of the list of brokers that are not what the assignment makes."""
    listed = claims.brokers
    if listed is None:
        return
    loads, members = loads_of(claims.rows, topics), brokers_of(claims.rows)
    if listed.broker.tolist() != list(range(len(loads))):
        yield f"expected a row for each of {len(loads):,} brokers, in order"
        return
    for broker, load in loads.items():
        if not 0 <= broker < len(loads):
            return
        stated, count = float(listed.load[broker]), int(listed.topics[broker])
        if not math.isclose(stated, load, rel_tol=RELATIVE):
            yield f"broker {broker:,}: load stated {stated:g}, found {load:g}"
        if count != len(members[broker]):
            yield (
                f"broker {broker:,}: topics stated {count:,}, found "
                f"{len(members[broker]):,}"
            )


def wrong_totals(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    rows = claims.rows
    for name in claims.required:
        if name not in claims.figures:
            yield f"plan.json has no figure {name!r}"
    if not claims.feasible:
        return
    own, counts = np.unique(rows.topic, return_counts=True)
    truth = {
        "brokers": len(brokers_of(rows)),
        "load": math.fsum(loads_of(rows, topics).values()),
        "topics": len(own),
        "replicas": len(rows),
        "split": int(np.count_nonzero(counts > 1)),
    }
    for name, found in truth.items():
        stated = claims.figures.get(name, found)
        if not _same(stated, found):
            yield f"{name}: stated {stated!r}, found {found:,.10g}"
    if claims.objective is not None and claims.objective != truth["brokers"]:
        yield f"objective: stated {claims.objective:,}, found {truth['brokers']:,}"


def wrong_quality(claims: ColocationClaims) -> Iterator[str]:
    """Statements about status, bound and gap that do not fit together."""
    objective, bound = claims.objective, claims.bound
    if claims.status not in list(Status):
        yield f"status is {claims.status!r}, expected {', '.join(Status)}"
    elif objective is None or bound is None or not claims.feasible:
        if claims.feasible or (objective, bound) != (None, None):
            yield (
                f"objective {objective} and bound {bound} in a plan that is "
                f"{claims.status}"
            )
    else:
        yield from _wrong_order(claims, objective, bound)


def _wrong_order(claims: ColocationClaims, objective: int, bound: int) -> Iterator[str]:
    if objective < bound:
        yield f"the objective {objective:,} is below its bound {bound:,}"
    optimal = claims.status == Status.OPTIMAL
    if optimal and objective != bound:
        yield f"the plan is said to be optimal with a gap of {claims.gap}"
    elif not optimal and objective == bound:
        yield "the plan meets its bound, but is not said to be optimal"
    for name in _OTHER_PLANS:
        other = claims.figures.get(name)
        if isinstance(other, int | float) and other < bound:
            yield f"{name} uses {other:,} brokers, below the bound {bound:,}"
    gap = (objective - bound) / objective if objective else 0.0
    if not _same(claims.gap, abs(gap)):
        yield (
            f"gap is {claims.gap}; objective {objective:,} and bound {bound:,} make "
            f"{abs(gap):,.10g}"
        )


def _same(stated: Any, found: float) -> bool:
    number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return number and math.isclose(stated, found, rel_tol=RELATIVE, abs_tol=RELATIVE)
