"""The bound on what every plan must carry, against the best of all plans."""

from collections import Counter
from itertools import product
from math import inf, isclose
from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.kernels.subscribers import Case, cases, selected, surveyed

from brokerwise.kernels import ascent, blocks, covering, exact, subset_sums
from brokerwise.kernels.ascent import (
    MOST_SHARE,
    SETTLED,
    first_sums,
    receptions,
    weights_of,
)
from brokerwise.kernels.selection import CROWDED, FORCED, SHARED, Rule, Topics
from brokerwise.model.arrays import Int64s

ROUNDS = 8
ROOMY = 10**15


class Ascent:
    """Rounds of ascent over all subscribers of a case, cut into two blocks."""

    def __init__(self, case: Case, capacity: int, cut: int = 0) -> None:
        self.case, self.capacity = case, capacity
        self.cut = min(cut, len(case.lists))
        self.survey = surveyed(case)
        self.sums: Int64s = first_sums(self.survey)
        _, lists = case.block()
        self.shares = np.zeros(len(lists), np.uint32)
        self.least = np.full(len(case.lists), -1, np.int64)
        self.number = 0

    def round(self) -> float:
        self.number += 1
        topics = self.case.topics
        weights = weights_of(topics, self.survey, self.capacity, self.sums, self.number)
        self.sums = np.zeros(len(topics.rates), np.int64)
        total = 0.0
        for begin, end in ((0, self.cut), (self.cut, len(self.case.lists))):
            offsets, lists = self.case.block(begin, end)
            total += ascent.ascend_block(
                topics,
                offsets,
                lists,
                np.array(self.case.needs[begin:end], np.int64),
                weights,
                self.least[begin:end],
                self.shares,
                self.sums,
            )
        return total

    def plain(self) -> int:
        received = receptions(self.case.topics, self.survey, self.capacity)
        return self.survey.outgoing + int(self.case.topics.rates @ received)


def least_load(case: Case, capacity: int) -> float:
    """No plan has less: tries all selections, and for each topic the fewest brokers."""
    best = inf
    for ways in product(*(case.ways(i) for i in range(len(case.lists)))):
        load = 0
        for topic, pairs in Counter(t for way in ways for t in way).items():
            rate = case.rate([topic])
            load += rate * (pairs + -(-pairs // (capacity // rate - 1)))
        best = min(best, load)
    return best


@st.composite
def tiny(draw: st.DrawFn) -> tuple[Case, int]:
    """Few enough choices to try all, and a capacity that may be tight."""
    case = draw(cases(longest=4, reachable=True))
    case = Case(case.topics, case.lists[:4], case.needs[:4])
    largest = int(case.topics.rates[0])
    return case, draw(st.sampled_from([2 * largest, 3 * largest, ROOMY]))


@given(tiny())
def test_no_bound_exceeds_the_best_plan(problem: tuple[Case, int]) -> None:
    case, capacity = problem
    best = least_load(case, capacity)
    bounds = Ascent(case, capacity)
    assert bounds.survey.paper <= bounds.survey.outgoing <= bounds.plain() <= best
    for _ in range(ROUNDS):
        assert bounds.round() * (1 - 1e-9) <= best


@given(tiny())
def test_with_room_for_all_the_first_round_is_no_worse_than_the_plain_bound(
    problem: tuple[Case, int],
) -> None:
    case, _ = problem
    bounds = Ascent(case, ROOMY)
    assert bounds.round() * (1 + 1e-9) >= bounds.plain()


@given(tiny(), st.integers(0, 4))
def test_blocks_change_rounding_only(problem: tuple[Case, int], cut: int) -> None:
    case, capacity = problem
    one, other = Ascent(case, capacity), Ascent(case, capacity, cut)
    for _ in range(3):
        assert isclose(one.round(), other.round(), rel_tol=1e-12)
        assert one.shares.tolist() == other.shares.tolist()
        assert one.sums.tolist() == other.sums.tolist()
        assert one.least.tolist() == other.least.tolist()


@given(tiny())
def test_sums_are_those_of_the_new_shares_of_shared_topics(
    problem: tuple[Case, int],
) -> None:
    case, capacity = problem
    rounds = Ascent(case, capacity)
    _, lists = case.block()
    for _ in range(ROUNDS):
        kind = weights_of(case.topics, rounds.survey, capacity, rounds.sums, 1).kind
        rounds.round()
        mine = np.arange(len(lists)) >= case.block()[0][0]
        shared = mine & (kind[lists] == SHARED) & (lists < case.topics.high)
        expected = np.zeros(len(kind), np.int64)
        np.add.at(expected, lists[shared], rounds.shares[shared])
        assert rounds.sums.tolist() == expected.tolist()
        assert rounds.shares.max(initial=1) <= MOST_SHARE


@given(tiny())
def test_least_is_what_the_exact_selection_delivers(
    problem: tuple[Case, int],
) -> None:
    case, capacity = problem
    rounds = Ascent(case, capacity)
    rounds.round()
    lists, _ = selected(case, Rule("exact"))
    delivered = [case.rate(chosen) for chosen in lists]
    least = np.where(rounds.least < 0, SETTLED - rounds.least, rounds.least)
    assert least.tolist() == delivered
    settled = int(least[rounds.least < 0].sum())
    rounds.least[rounds.least >= 0] = 0  # known from now on, so not found again
    assert rounds.round() == settled


@given(tiny())
def test_a_settled_subscriber_gives_up_its_shares_and_could_not_cost_more(
    problem: tuple[Case, int],
) -> None:
    case, capacity = problem
    rounds = Ascent(case, capacity)
    rounds.round()
    offsets, _ = case.block()
    weights = weights_of(case.topics, rounds.survey, capacity, rounds.sums, 1)
    lists, _ = selected(case, Rule("exact"))
    for i in np.flatnonzero(rounds.least < 0):
        assert rounds.shares[offsets[i] : offsets[i + 1]].max(initial=0) == 0
        assert all(weights.kind[topic] == FORCED for topic in lists[i])


def test_a_topic_that_everyone_could_do_without_is_still_paid_for_once() -> None:
    """Either of two topics will do for all ten: the plain bound misses the second
    half of the traffic, ascent does not."""
    case = Case(Topics(np.array([10, 10]), 0, 2), [[0, 1]] * 10, [10] * 10)
    bounds = Ascent(case, ROOMY)
    assert bounds.plain() == 100
    assert max(bounds.round() for _ in range(ROUNDS)) == pytest.approx(110)


def test_crowded_topics_are_charged_for_every_broker_they_fill() -> None:
    """A broker of 40 serves three pairs of rate 10: nine pairs need three brokers."""
    case = Case(Topics(np.array([10, 10]), 0, 2), [[0, 1]] * 9, [10] * 9)
    survey = surveyed(case)
    weights = weights_of(case.topics, survey, 40, first_sums(survey))
    assert weights.kind.tolist() == [CROWDED, SHARED]
    assert weights.unit[0] == pytest.approx(10 / 3)
    forced = Case(case.topics, [[0]] * 7, [10] * 7)
    survey = surveyed(forced)
    weights = weights_of(case.topics, survey, 40, first_sums(survey))
    assert weights.kind[0] == FORCED
    assert weights.unit[0] == pytest.approx(10 * 3 / 7)
    assert receptions(case.topics, survey, 40).tolist() == [3, 0]


def test_the_bound_of_a_crowded_topic_is_what_it_costs() -> None:
    """Six pairs of rate 10 fill two brokers of 40, and the other topic is dearer."""
    case = Case(Topics(np.array([20, 10]), 0, 2), [[0, 1]] * 6, [10] * 6)
    assert least_load(case, 40) == 80
    assert Ascent(case, 40).round() == pytest.approx(80)


def test_topics_that_are_not_carried_are_not_charged() -> None:
    topics = Topics(np.array([90, 10, 0]), 1, 2)
    case = Case(topics, [[0, 1, 2], [1, 2], [2], []], [5, 5, 5, 5])
    bounds = Ascent(case, 100)
    assert bounds.round() == pytest.approx(30)
    assert receptions(topics, bounds.survey, 100).tolist() == [0, 1, 0]


def follows(seed: int, subscribers: int = 120, topics: int = 60) -> Case:
    """Subscribers that prefer few topics, as people do."""
    random = np.random.default_rng(seed)
    rates = np.maximum(1, np.exp(random.normal(2.2, 1.5, topics))).astype(np.int64)
    rates = np.sort(np.minimum(rates, 1_000))[::-1].copy()
    popularity = 1 / (random.permutation(topics) + 2.0)
    popularity /= popularity.sum()
    sizes = random.integers(2, 12, subscribers)
    lists = [sorted(random.choice(topics, n, False, popularity)) for n in sizes]
    return Case(Topics(rates, 0, topics), lists, [10] * subscribers)


def cheapest_on_one_broker(case: Case) -> float:
    """The least load of all selections on one broker, by HiGHS."""
    solver: Any = highspy.Highs()
    solver.silent()
    received = [solver.addBinary(obj=float(rate)) for rate in case.topics.rates]
    for i, wanted in enumerate(case.lists):
        sent = {t: solver.addBinary(obj=float(case.rate([t]))) for t in wanted}
        for topic, pair in sent.items():
            solver.addConstr(pair <= received[topic])
        rates = (case.rate([t]) * pair for t, pair in sent.items())
        solver.addConstr(solver.qsum(rates) >= case.due(i))
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(solver.getObjectiveValue())


@pytest.mark.parametrize("seed", range(4))
def test_ascent_comes_close_to_the_optimum_that_a_solver_finds(seed: int) -> None:
    case = follows(seed)
    best = cheapest_on_one_broker(case)
    bounds = Ascent(case, ROOMY)
    rounds = [bounds.round() for _ in range(ROUNDS)]
    assert bounds.plain() <= rounds[0] * (1 + 1e-9)
    assert max(rounds) * (1 - 1e-9) <= best
    assert max(rounds) >= 0.985 * best
    assert max(rounds[:3]) >= 0.97 * best


@given(tiny())
def test_ascent_stays_within_its_arrays(problem: tuple[Case, int]) -> None:
    case, capacity = problem
    assume(case.lists)
    compiled, plain = Ascent(case, capacity), Ascent(case, capacity)
    for _ in range(2):
        total = compiled.round()
        with interpreted(ascent, blocks, covering, exact, subset_sums):
            assert plain.round() == pytest.approx(total, rel=1e-12)
        assert plain.shares.tolist() == compiled.shares.tolist()
