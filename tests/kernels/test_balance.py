"""Sessions on brokers: what is kept is what counting again gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.planners.balance.fleets import after, drawn, problems, snapshot_of
from tests.tiers import examples

from brokerwise.kernels import balance_paper, balance_search, balance_state
from brokerwise.model.snapshot import Rebalancing, imbalance
from brokerwise.planners.balance import paper, planned, solve, workspace
from brokerwise.planners.balance.problem import POLICIES, Options, Problem
from brokerwise.planners.balance.workspace import Workspace

MODULES = (balance_state, balance_paper, balance_search, balance_search)
CALLERS = (paper, planned, planned, solve, paper, workspace)


@settings(max_examples=examples(100))
@given(problem=problems(), data=st.data())
def test_after_any_moves_everything_is_as_if_counted_anew(
    problem: Problem, data: st.DataObject
) -> None:
    made = Workspace.of(problem, Options())
    snapshot = problem.snapshot
    for session in range(snapshot.sessions):
        target = data.draw(st.integers(0, snapshot.brokers - 1))
        place = int(made.state.places[session])
        if target == place:
            continue
        added = np.zeros(snapshot.brokers, np.int64)
        balance_state.burdens(made.state, session, added)
        loads = made.state.loads.copy()
        loads[place] -= balance_state.relief(made.state, session)
        loads[target] += balance_state.burden(made.state, session, target)
        assert added[target] == loads[target] - made.state.loads[target]
        balance_state.shift(made.state, session, target)
        assert made.state.loads.tolist() == loads.tolist()
    state = made.state
    assert (
        state.loads.tolist() == snapshot.loads(state.places.astype(np.int32)).tolist()
    )
    assert ((state.counts == 0) == state.absent).all()
    counted = state.loads[state.counted]
    moved = state.places != snapshot.places
    assert state.tally[: balance_state.WORK].tolist() == [
        counted.sum(),
        moved.sum(),
        snapshot.state_bytes[moved].sum(),
    ]
    assert balance_state.spread(state) == pytest.approx(imbalance(counted))


@settings(max_examples=examples(100))
@given(
    places=st.lists(st.integers(0, 2), min_size=1, max_size=3000),
    start=st.integers(-1, 3000),
    broker=st.integers(0, 2),
    seed=st.integers(0, 5),
)
def test_sessions_of_a_broker_are_found_by_rank(
    places: list[int], start: int, broker: int, seed: int
) -> None:
    # Long runs without any need the words of words.
    random = np.random.default_rng(seed)
    spread = np.where(random.random(3000) < 0.002, 1, 0) if seed else np.zeros(3000)
    at = np.resize(places, 3000) * spread.astype(np.int64)
    problem = Problem.of(snapshot_of(3, [1], [[0]] * 3000, at.tolist()))
    state = Workspace.of(problem, Options()).state
    here = np.flatnonzero(at == broker)  # equal loads: ranks are numbers
    following, before = here[here >= start], here[here <= start]
    first = int(following[0]) if len(following) else -1
    last = int(before[-1]) if len(before) else -1
    assert balance_state.next_at(state, broker, max(0, start)) == first
    assert balance_state.last_at(state, broker, min(start, 2999)) == last


def test_cov_of_loads_whose_squares_do_not_fit() -> None:
    rates = [2**58, 2**57 + 3]
    problem = Problem.of(snapshot_of(3, rates, [[0], [1], [0, 1]], [0, 1, 1]))
    state = Workspace.of(problem, Options()).state
    assert balance_state.spread(state) == pytest.approx(imbalance(state.loads))


def same_interpreted(problem: Problem, options: Options) -> Rebalancing:
    """What is found compiled, and by plain Python, where a wrong index raises."""
    compiled = solve.solve(problem, options)
    with interpreted(*MODULES, *CALLERS):
        found = solve.solve(problem, options)
    assert after(problem, found) == after(problem, compiled)
    assert found.reason == compiled.reason
    return compiled


@settings(max_examples=examples(40))
@given(
    problem=problems(),
    policy=st.sampled_from(POLICIES),
    moves=st.sampled_from([None, 2]),
    beta=st.sampled_from([0.0, 0.0, 50.0]),
)
def test_no_index_is_out_of_range(
    problem: Problem, policy: str, moves: int | None, beta: float
) -> None:
    same_interpreted(problem, Options(policy, 0.0, beta, gamma=0.0, max_moves=moves))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("moves", [None, 4, 10])
def test_nor_is_one_in_local_search(seed: int, moves: int | None) -> None:
    snapshot = drawn(seed, 30, 3 + 2 * seed, 6 + 3 * seed, 2 + seed)
    problem = Problem.of(snapshot)
    found = same_interpreted(problem, Options(alpha=0.0, max_moves=moves))
    assert found.max_after < found.max_before
    hot = Options(hot=0.2, max_moves=moves, max_bytes=12)
    assert same_interpreted(problem, hot).max_after <= found.max_before
