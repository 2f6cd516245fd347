"""Who does what in a replay: nothing is left out and nothing done twice."""

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
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.seeds import overlay_seed, placement_seed
from brokerwise.runtime.load.replay import tasks_of
from brokerwise.runtime.load.traffic import Period, period_of
from brokerwise.runtime.load.worker import ReplayTask
from brokerwise.runtime.protocol.tokens import Keys, Role

FLEET = FleetFile("http://coordinator", 1, 1, "5e" * 32, "operator", "broker")


def placed(topics: str, users: list[str], rates: dict[str, int], room: int) -> Period:
    workload = Workload.from_pairs(
        topics=topics.split(), subscribers=users, rates=rates
    )
    plan = provisioned(workload, threshold=sum(rates.values()), capacity=room)
    return period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))


@pytest.fixture
def period() -> Period:
    """Two brokers: world and half of sport, and the rest."""
    topics, users = "world world sport sport sport", ["u0", "u1", "u0", "u1", "u2"]
    return placed(topics, users, {"world": 10, "sport": 4}, room=34)


def shared(period: Period, workers: int) -> list[ReplayTask]:
    return tasks_of(period, workers, FLEET, epoch=7)


def check(period: Period, tasks: list[ReplayTask]) -> None:
    """Sessions, messages and sources of all tasks are those of the period."""
    users = [user for task in tasks for user in task.users]
    wanted = Counter((user.name, topic) for user in users for topic in user.topics)
    sessions = period.seed.sessions
    assert wanted == Counter((s.user, topic) for s in sessions for topic in s.topics)
    assert sum(task.sessions for task in tasks) == len(sessions)
    said = Counter[tuple[str, str]]()
    for user in users:
        for topic, count in user.publishes:
            said[topic, user.source] += count
    assert {(topic, source): n for topic, source, n in tasks[0].streams} == said
    assert sum(said.values()) == period.messages
    assert sum(task.expected for task in tasks) == period.planned.deliveries


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_a_placement_is_shared_out(period: Period, workers: int) -> None:
    tasks = shared(period, workers)
    assert len(tasks) == workers
    check(period, tasks)
    first = tasks[0].users[0]
    keys = Keys.of_secret(bytes.fromhex(FLEET.secret))
    assert first.token == keys.token(Role.USER, first.name)


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
        assert all(user.source == user.name for user in task.users)


def test_a_subscriber_that_is_called_like_a_publisher_is_still_served() -> None:
    period = placed("a", ["replay/0"], {"a": 3}, room=6)
    assert sum(task.expected for task in shared(period, 1)) == 3


def test_a_user_on_several_brokers_is_one_client(period: Period) -> None:
    (task,) = shared(period, 1)
    names = [user.name for user in task.users]
    assert len(names) == len(set(names))
    assert max(user.sessions for user in task.users) == 2


def test_one_client_publishes_all_topics_of_a_worker() -> None:
    (task,) = shared(placed("a b", ["u", "u"], {"a": 3, "b": 2}, room=20), 1)
    assert [user.publishes for user in task.users] == [(), (("a", 3), ("b", 2))]
