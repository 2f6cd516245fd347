"""The default against every selection and packing that it chooses from."""

import numpy as np
import pytest
from benchmarks.regimes import Regime
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.auditing.memory import violations
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.model.plan import Status
from brokerwise.model.workload import Workload
from brokerwise.planners.provision import portfolio
from brokerwise.planners.provision.packing.attempt import Field
from brokerwise.planners.provision.packing.pack import PACKINGS
from brokerwise.planners.provision.packing.pieces import Counter, Demand
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.solve import Problem, solve

COMBINATIONS = [(s, p) for s in SELECTIONS for p in PACKINGS]
LARGE_TOPICS = Regime("large topics", 0.4, 10, 40, 400, threshold=0.2)


def cheapest_in_the_box(problem: Problem) -> tuple[float, int] | None:
    """Cost and brokers of the cheapest combination, each planned by itself."""
    found = []
    for selection, packing in COMBINATIONS:
        plan = solve(problem, Options(selection, packing, rounds=0))
        if plan.objective is not None:
            found.append((plan.objective, len(plan.brokers)))
    return min(found, default=None)


def regimes() -> st.SearchStrategy[Regime]:
    """From tiny topics to ones of which a broker carries a single pair; nobody shares
    a topic, or everybody wants the same; limited fleets and mixed ones."""
    few = st.integers(1, 8)
    return st.builds(
        lambda share, wanted, **drawn: Regime(
            "drawn", wanted=wanted, topics=int(share * wanted), **drawn
        ),
        share=st.sampled_from([0, 1, 1.5, 4]),
        wanted=few,
        size=st.sampled_from([1e-6, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.5]),
        subscribers=few,
        smallest=st.sampled_from([0.001, 0.3, 0.9]),
        threshold=st.sampled_from([0.1, 0.3, 0.6, 1.0]),
        spare=st.sampled_from([None, None, 0, 1, 2]),
        usd=st.sampled_from([(36.0, 2.4e-8), (0.0, 0.0), (1.0, 0.01), (0.0, 1.0)]),
        mixed=st.booleans(),
        seed=st.integers(0, 99),
    )


@settings(max_examples=examples(25))
@given(regime=regimes())
@example(regime=LARGE_TOPICS)
def test_the_default_is_never_dearer_than_anything_in_the_box(regime: Regime) -> None:
    problem = regime.problem()
    plan, best = solve(problem), cheapest_in_the_box(problem)
    assert violations(plan, problem.workload) == []
    if plan.objective is None:
        assert best is None
    elif best is not None:
        assert (plan.objective, len(plan.brokers)) <= best


def test_the_plan_says_which_combination_won_and_what_became_of_the_others() -> None:
    plan = solve(LARGE_TOPICS.problem())
    options = plan.options
    assert plan.algorithm == f"{options['selection']}+{options['packing']}"
    assert plan.algorithm in options["tried"]
    assert options["selection"] == "random"
    groups = (options["tried"], options["ruled_out"], options["not_tried"])
    every = [name for group in groups for name in group]
    assert sorted(every) == sorted(f"{s}+{p}" for s, p in COMBINATIONS)
    assert options["not_tried"] == []


def test_what_is_named_is_kept_and_the_rest_is_tried() -> None:
    problem = LARGE_TOPICS.problem()
    greedy = solve(problem, Options(selection="greedy"))
    assert {name.split("+")[0] for name in greedy.options["tried"]} == {"greedy"}
    named = solve(problem, Options("greedy", "grouped"))
    assert named.algorithm == "greedy+grouped"
    assert not {"tried", "ruled_out", "not_tried"} & set(named.options)


def test_beyond_a_number_of_pairs_the_plan_lists_what_was_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = LARGE_TOPICS.problem()
    monkeypatch.setattr(portfolio, "PAIRS", problem.workload.pairs - 1)
    plan = solve(problem)
    assert (plan.algorithm, plan.options["tried"]) == ("shared+tight", ["shared+tight"])
    assert len(plan.options["not_tried"]) == len(COMBINATIONS) - 1
    monkeypatch.setattr(portfolio, "PAIRS", problem.workload.pairs)
    assert solve(problem).options["not_tried"] == []


def test_what_there_is_no_time_for_is_listed_as_not_tried() -> None:
    plan = solve(LARGE_TOPICS.problem(), Options(stop=lambda: True))
    assert plan.options["tried"] == ["shared+tight"]
    assert len(plan.options["not_tried"]) == len(COMBINATIONS) - 1
    assert plan.options["stopped"] == "time"


def test_time_that_is_left_is_used_to_search_on() -> None:
    """Five topics take three brokers though their load would fit on two, which the
    search cannot prove: it goes on until it is told to stop."""
    rates = {f"t{t}": 4 for t in range(5)}
    workload = Workload.from_pairs(
        topics=list(rates), subscribers=["v"] * len(rates), rates=rates
    )
    asked = iter(range(120))
    options = Options(stop=lambda: next(asked, None) is None)
    plan = solve(Problem(workload, Fleet.of(9, 20), 20), options)
    assert len(plan.brokers) == 3
    assert next(asked, None) is None
    assert plan.options["not_tried"] == []


def test_the_default_gives_the_same_plan_every_time() -> None:
    one, other = (solve(LARGE_TOPICS.problem()) for _ in range(2))
    assert one.options == other.options
    assert one.objective == other.objective
    assert one.placement.broker.tolist() == other.placement.broker.tolist()


def test_a_plan_that_is_proven_best_needs_no_others() -> None:
    plan = solve(Regime("tiny topics", 1e-6, 1, 5, 5, threshold=1.0).problem())
    assert plan.status is Status.OPTIMAL
    assert plan.options["tried"] == ["shared+tight"]
    assert len(plan.options["ruled_out"]) == len(COMBINATIONS) - 1


@settings(max_examples=examples(25))
@given(regime=regimes(), packing=st.sampled_from(sorted(PACKINGS)))
def test_nothing_is_below_what_a_selection_is_known_to_cost(
    regime: Regime, packing: str
) -> None:
    """What rules combinations out is a bound on their cost."""
    problem = regime.problem()
    plan = solve(problem, Options("greedy", packing, rounds=0))
    if plan.objective is None:
        return
    workload, fleet = problem.workload, problem.fleet
    counts = np.bincount(plan.selected.topics, minlength=workload.topics)
    demand = Demand(workload.rates, counts.astype(np.int64), lambda: iter(()))
    prices = Prices.of(fleet, workload.period_seconds, workload.message_bytes)
    if counts.any():
        least = Field(demand, Counter(fleet, prices)).least
        assert least <= (plan.objective, len(plan.brokers), plan.load)
