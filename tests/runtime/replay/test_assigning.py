"""Who does what: nothing is left out and nothing done twice."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auditing.naive import provisioned
from tests.auditing.overlay_cases import plans
from tests.tiers import examples

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import ApprovedPlan
from brokerwise.runtime.fleet.seeds import overlay_seed, placement_seed
from brokerwise.runtime.replay.assigning import tasks_of
from brokerwise.runtime.replay.period import Period, period_of
from brokerwise.runtime.replay.tasks import Task


@pytest.fixture
def period() -> Period:
    """Two brokers: world and half of sport, and the rest."""
    workload = Workload.from_pairs(
        topics=["world", "world", "sport", "sport", "sport"],
        subscribers=["u0", "u1", "u0", "u1", "u2"],
        rates={"world": 10, "sport": 4},
    )
    plan = provisioned(workload, threshold=14, capacity=34)
    return period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))


def shared(period: Period, workers: int) -> list[Task]:
    brokers = {b.name: f"ws://{b.name}" for b in period.seed.brokers}
    return tasks_of(
        period, workers, epoch=7, brokers=brokers, sign=lambda user: f"token {user}"
    )


def check(period: Period, tasks: list[Task]) -> None:
    """Sessions, messages and sources of all tasks are those of the period."""
    sessions = [
        (line.user, line.broker, line.topics)
        for task in tasks
        for line in task.lines
        if line.source != line.user or line.topics or period.seed.overlay
        if not line.source.startswith("replay/")
    ]
    planned = [(s.user, s.broker, s.topics) for s in period.seed.sessions]
    assert sorted(sessions) == sorted(planned)
    received = Counter[tuple[str, str]]()
    sources = Counter[tuple[str, str]]()
    for task in tasks:
        for speech in task.speeches:
            lines = [task.lines[number] for number in speech.lines]
            assert len({line.source for line in lines}) == 1
            sources[speech.topic, lines[0].source] += speech.count
            for line in lines:
                received[line.broker, speech.topic] += speech.count
    streams = {(topic, source): count for topic, source, count in tasks[0].streams}
    assert streams == sources
    if not period.seed.overlay:
        assert received == period.planned.received
    assert sum(task.expected for task in tasks) == period.planned.deliveries


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_a_placement_is_shared_out(period: Period, workers: int) -> None:
    tasks = shared(period, workers)
    assert len(tasks) == workers
    check(period, tasks)
    assert tasks[0].lines[0].token == f"token {tasks[0].lines[0].user}"


@settings(max_examples=examples(50))
@given(plans(), st.integers(1, 3))
def test_an_overlay_is_shared_out(
    case: tuple[Network, OverlayPlan], workers: int
) -> None:
    network, plan = case
    period = period_of(ApprovedPlan(plan, network, overlay_seed(plan, network)))
    tasks = shared(period, workers)
    check(period, tasks)
    for task in tasks:
        for speech in task.speeches:
            assert len(speech.lines) == 1  # a user's own


def test_a_subscriber_that_is_called_like_a_publisher_is_still_served() -> None:
    workload = Workload.from_pairs(
        topics=["a"], subscribers=["replay/0"], rates={"a": 3}
    )
    plan = provisioned(workload, threshold=3, capacity=6)
    period = period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))
    assert sum(task.expected for task in shared(period, 1)) == 3


def test_topics_of_one_broker_are_published_over_one_line() -> None:
    workload = Workload.from_pairs(
        topics=["a", "b"], subscribers=["u", "u"], rates={"a": 3, "b": 2}
    )
    plan = provisioned(workload, threshold=5, capacity=20)
    period = period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))
    (task,) = shared(period, 1)
    assert [speech.lines for speech in task.speeches] == [(1,), (1,)]
    assert len(task.lines) == 2
