"""The default against every selection and packing that it chooses from."""

from benchmarks.regimes import Regime
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.auditing.memory import violations
from brokerwise.planners.provision.options import SELECTIONS, Options
from brokerwise.planners.provision.packing.pack import PACKINGS
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
