"""The broker whose workers share its cores, against plain Python and closed forms."""

import numpy as np
import pytest
from benchmarks.reference.latency_literal import deliveries
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import latency_queue
from brokerwise.kernels.latency_queue import DELIVER, RECEIVE, WORK, serve
from brokerwise.model.arrays import Float64s, Int64s

Case = tuple[Float64s, Int64s, Float64s]


def drawn(seed: int, count: int, k: int, *, load: float, loop: float) -> Case:
    """Times, topics and costs: random floats, so that no two things coincide."""
    random = np.random.default_rng(seed)
    costs = random.uniform(0.2, 3.0, (3, k))
    costs[[RECEIVE, DELIVER]] *= loop
    topics = random.integers(0, k, count)
    gap = costs[:, topics].sum() / max(count, 1) / load
    return np.cumsum(random.exponential(gap, count)), topics, costs


def served(
    case: Case, cores: float = 1.0, lost: float = 0.0, until: float = np.inf
) -> tuple[Float64s, float, float]:
    delivered = np.full(len(case[0]), np.nan)
    used, end = serve(*case, float(cores), lost, until, delivered)
    return delivered, used, end


cases = st.builds(
    drawn,
    seed=st.integers(0, 10**6),
    count=st.integers(0, 40),
    k=st.integers(1, 4),
    load=st.sampled_from((0.3, 0.9, 2.0)),
    loop=st.sampled_from((0.0, 0.1, 1.0)),
)


@settings(max_examples=examples(150))
@given(
    case=cases,
    cores=st.integers(1, 3),
    lost=st.sampled_from((0.0, 0.2)),
    share=st.sampled_from((0.5, 1.0, np.inf)),
)
def test_deliveries_are_those_of_plain_python(
    case: Case, cores: int, lost: float, share: float
) -> None:
    sent, topics, costs = case
    until = share * sent[-1] if len(sent) else np.inf
    expected, used = deliveries(
        sent.tolist(), topics.tolist(), costs.tolist(), cores, lost, until
    )
    for run in (serve, serve.py_func):  # type: ignore[attr-defined]
        delivered = np.full(len(sent), np.nan)
        with interpreted(*([latency_queue] if run is not serve else [])):
            found, _ = run(*case, float(cores), lost, until, delivered)
        want = [np.nan if at is None else at for at in expected]
        np.testing.assert_allclose(delivered, want, rtol=1e-9)
        assert found == pytest.approx(used)


@given(case=cases, cores=st.integers(1, 3))
def test_processor_time_is_the_work_that_was_given(case: Case, cores: int) -> None:
    sent, topics, costs = case
    delivered, used, end = served(case, cores)
    assert used == pytest.approx(costs[:, topics].sum())
    if len(sent):
        assert end == delivered.max()
        alone = costs[:, topics].sum(axis=0)
        assert (delivered - sent >= alone - 1e-9).all()


@given(case=cases, lost=st.sampled_from((0.0, 0.3)))
def test_messages_of_a_topic_stay_in_order(case: Case, lost: float) -> None:
    _, topics, costs = case
    delivered, _, _ = served(case, lost=lost)
    for topic in range(costs.shape[1]):
        assert (np.diff(delivered[topics == topic]) > 0).all()


@given(case=cases, cores=st.integers(1, 3))
def test_no_message_is_sooner_when_a_topic_is_added(case: Case, cores: int) -> None:
    """If the broker itself costs nothing: its loop might hold a topic back that
    another then need not share its core with."""
    sent, topics, costs = case
    costs[[RECEIVE, DELIVER]] = 0
    with_all, _, _ = served(case, cores)
    few = topics < costs.shape[1] - 1
    without, _, _ = served((sent[few], topics[few], costs), cores)
    assert (with_all[few] >= without - 1e-9).all()


@given(case=cases)
def test_topics_do_not_meet_where_there_is_a_core_for_each(case: Case) -> None:
    sent, topics, costs = case
    costs[[RECEIVE, DELIVER]] = 0
    together, _, _ = served(case, costs.shape[1])
    for topic in range(costs.shape[1]):
        of = topics == topic
        alone, _, _ = served((sent[of], topics[of], costs))
        np.testing.assert_allclose(together[of], alone)


def test_one_topic_on_one_core_waits_as_pollaczek_and_khinchine_say() -> None:
    random = np.random.default_rng(5)
    work, count = 5.0, 400_000
    for load in (0.3, 0.7):
        sent = np.cumsum(random.exponential(work / load, count))
        costs = np.array([[0.0], [work], [0.0]])
        delivered, _, _ = served((sent, np.zeros(count, np.int64), costs))
        waited = np.mean(delivered - sent) - work
        assert waited == pytest.approx(load * work / (2 * (1 - load)), rel=0.03)


def test_topics_of_equal_load_share_a_core_as_if_it_were_as_many_slow_ones() -> None:
    """All are busy, always: each runs at a third of the speed."""
    count, work = 300, 2.0
    topics = np.tile(np.arange(3), count)
    costs = np.zeros((3, 3))
    costs[WORK] = work
    delivered, used, end = served((np.zeros(3 * count), topics, costs))
    assert used == end == pytest.approx(3 * count * work)
    assert delivered[-1] == pytest.approx(end)
    _, _, slower = served((np.zeros(3 * count), topics, costs), lost=0.25)
    assert slower == pytest.approx(end / 0.75)
    _, _, quicker = served((np.zeros(3 * count), topics, costs), cores=3, lost=0.25)
    assert quicker == pytest.approx(count * work)


def test_what_is_not_done_in_time_stays_open() -> None:
    sent = np.array([0.0, 1.0, 50.0])
    costs = np.array([[1.0], [10.0], [1.0]])
    case = (sent, np.zeros(3, np.int64), costs)
    delivered, used, end = served(case, cores=2, until=20.0)
    assert delivered[0] == 12.0 and np.isnan(delivered[1:]).all()
    assert end == 20.0
    assert used == pytest.approx(1 + 10 + 1 + 1 + 9)
