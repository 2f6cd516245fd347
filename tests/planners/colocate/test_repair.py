"""Plans mended after their brokers were observed."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.colocate.cases import Literal, drawn, problems
from tests.planners.colocate.predictors import Queueing
from tests.tiers import examples

from brokerwise.model.arrays import Int64s
from brokerwise.model.colocation import ColocationPlan, Replicas
from brokerwise.planners.colocate.problem import Demand, Observation, Options, Problem
from brokerwise.planners.colocate.solve import solve


def seen_on(plan: ColocationPlan, broker: int) -> Observation:
    rows = np.flatnonzero(plan.replicas.broker == broker)
    return Observation(
        tuple(plan.replicas.topic[rows].tolist()),
        tuple(plan.replicas.rate_per_second[rows].tolist()),
    )


def observed(problem: Problem, plan: ColocationPlan, missed: set[int]) -> Problem:
    brokers = range(plan.replicas.brokers)
    return Problem(
        problem.topics,
        problem.predictor,
        problem.k,
        problem.margin,
        tuple(seen_on(plan, b) for b in brokers if b in missed),
        tuple(seen_on(plan, b) for b in brokers if b not in missed),
    )


def homes(replicas: Replicas) -> Int64s:
    return replicas.broker.astype(np.int64)


@settings(max_examples=examples(40))
@given(problem=problems(most=7), data=st.data())
def test_as_few_topics_as_possible_move_and_what_missed_is_not_used_again(
    problem: Problem, data: st.DataObject
) -> None:
    before = solve(problem, Options())
    shared = [
        b
        for b in range(before.replicas.brokers)
        if np.count_nonzero(before.replicas.broker == b) > 1
    ]
    missed = data.draw(st.sets(st.sampled_from(shared))) if shared else set()
    problem = observed(problem, before, missed)
    after = solve(problem, Options(), before.replicas)
    literal = Literal(problem)
    brokers = range(after.replicas.brokers)
    literal.check(
        [np.flatnonzero(after.replicas.broker == b).tolist() for b in brokers]
    )
    least = 0
    for broker in range(before.replicas.brokers):
        members = np.flatnonzero(before.replicas.broker == broker).tolist()
        least += next(
            away
            for away in range(len(members) + 1)
            if any(
                not rest or literal.feasible(rest)
                for rest in combinations(members, len(members) - away)
            )
        )
    moves = after.figures["moves"]
    assert len(moves) == least == len(missed)
    changed = homes(before.replicas) != homes(after.replicas)
    assert sorted(m["topic"] for m in moves) == np.flatnonzero(changed).tolist()
    for move in moves:
        assert move["from"] == before.replicas.broker[move["topic"]]
        assert move["to"] == after.replicas.broker[move["topic"]]
    assert after.algorithm == "repair"


def test_what_was_seen_to_meet_its_targets_stays_though_the_model_says_no() -> None:
    topics = drawn(20, 4)
    before = solve(Problem(topics, Queueing(cores=2.0), 4), Options())
    stricter = Problem(topics, Queueing(), 4)
    kept = solve(observed(stricter, before, set()), Options(), before.replicas)
    assert kept.figures["moves"] == []
    assert kept.replicas.broker.tolist() == before.replicas.broker.tolist()
    changed = solve(stricter, Options(), before.replicas)
    assert len(changed.figures["moves"]) > 0
    assert (changed.objective or 0) > (before.objective or 0)


def test_new_topics_find_a_broker_and_replicas_keep_theirs() -> None:
    topics = drawn(12, 2)
    busy = topics.rate_per_second.copy()
    busy[3] *= 4
    table = type(topics)(topics.names, topics.processing_ms, busy, topics.target_ms)
    problem = Problem(table, Queueing(), 3)
    before = solve(problem, Options(split=True))
    old = before.replicas
    known = old.topic != 7
    current = Replicas(
        *(
            column[known]
            for column in (
                *(old.topic, old.number, old.broker),
                *(old.rate_per_second, old.predicted_p90_ms),
            )
        )
    )
    after = solve(problem, Options(), current)
    demand = Demand.of(problem, np.bincount(after.replicas.topic))
    rows = after.replicas
    Literal(problem, demand).check(
        [np.flatnonzero(rows.broker == b).tolist() for b in range(rows.brokers)]
    )
    assert after.figures["moves"] == [] and after.figures["split"] == 1
