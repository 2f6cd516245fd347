"""A worker of a replay: the order of messages, and what is found of those that come."""

import asyncio
from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.load.faulty_broker import FaultyBroker, running

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.worker import (
    WINDOW,
    PublishersConnected,
    ReplayProgress,
    ReplayTask,
    ReplayUser,
    SessionsOpened,
    Worker,
    WorkerReport,
    WorkerResult,
    payload,
    publish_times,
)
from brokerwise.runtime.protocol.fleet import Axis
from brokerwise.runtime.protocol.frames import Message


@given(st.lists(st.integers(0, 30), max_size=8))
def test_every_message_comes_once_within_the_period_and_in_order(
    counts: list[int],
) -> None:
    messages = list(publish_times(counts))
    times = [at for at, _ in messages]
    assert times == sorted(times)
    assert all(0 <= at < 1 + 1e-9 for at in times)
    sent = Counter(index for _, index in messages)
    assert [sent[i] for i in range(len(counts))] == counts


@given(st.integers(1, 40), st.integers(1, 40))
def test_topics_take_turns_by_their_rates(a: int, b: int) -> None:
    """At no time is a topic more than a message ahead of or behind its share."""
    said = [0, 0]
    for at, index in publish_times([a, b]):
        said[index] += 1
        for count, total in zip(said, (a, b), strict=True):
            assert abs(count - at * total) <= 1 + 1e-6


def test_topics_of_one_rate_do_not_speak_at_once() -> None:
    first = [at for at, _ in publish_times([1] * 5)]
    assert min(b - a for a, b in pairwise(first)) > 0.05


def task(**changes: Any) -> ReplayTask:
    """Two subscribers of news, one also of chess, and a publisher of both."""
    said = (("news", 40), ("chess", 3))
    facts: dict[str, Any] = {
        "epoch": 7,
        "coordinator": "",
        "users": (
            ReplayUser("ann", "token", topics=("news",), sessions=1),
            ReplayUser("bob", "token", topics=("news", "chess"), sessions=1),
            ReplayUser("replay", "token", "replay/0", publishes=said),
        ),
        "streams": tuple((topic, "replay/0", count) for topic, count in said),
    }
    return ReplayTask(**(facts | changes))


async def done(
    todo: ReplayTask, broker: FaultyBroker, expected: int | None = None
) -> list[WorkerReport]:
    """What a worker reports; it is told to finish once it has got `expected`."""
    reports: list[WorkerReport] = []
    finish = asyncio.Event()
    finish.set()
    parts = 0

    def tell(report: WorkerReport) -> None:
        reports.append(report)
        wanted = todo.expected if expected is None else expected
        if isinstance(report, ReplayProgress) and report.arrived >= wanted:
            finish.set()

    async def go_on() -> None:
        nonlocal parts
        await finish.wait()
        parts += 1
        if parts == 2:  # publishing begins
            finish.clear()

    async with running(broker) as coordinator:
        here = msgspec.structs.replace(todo, coordinator=coordinator)
        await Worker(here, tell).run(go_on)
    return reports


def result(reports: list[WorkerReport]) -> WorkerResult:
    last = reports[-1]
    assert isinstance(last, WorkerResult), last
    return last


async def test_all_messages_come_once_and_in_order() -> None:
    broker = FaultyBroker()
    reports = await done(task(message_bytes=50), broker)
    assert SessionsOpened(2) in reports
    assert PublishersConnected() in reports
    assert ReplayProgress(43, 83) in reports
    assert result(reports).findings == Findings()
    assert sum(result(reports).latencies) == 83
    assert {p.generation for p in broker.published} == {5}
    assert {p.epoch for p in broker.published} == {7}
    assert {len(bytes(p.data)) for p in broker.published} == {50}
    news = [p.seq for p in broker.published if p.topic == "news"]
    assert news == list(range(1, 41))
    assert [login.source for login in broker.logins if login.source] == ["replay/0"]


def dropping(message: Message) -> list[Message]:
    return [] if message.topic == "news" and message.seq == 9 else [message]


def doubling(message: Message) -> list[Message]:
    return [message] * (2 if message.seq == 3 else 1)


def swapping(message: Message) -> list[Message]:
    """The third message comes after the fourth."""
    if message.topic != "news" or message.seq not in (3, 4):
        return [message]
    earlier = msgspec.structs.replace(message, seq=3)
    return [] if message.seq == 3 else [message, earlier]


def mixing(message: Message) -> list[Message]:
    """Someone else publishes, too: an older epoch."""
    other = msgspec.structs.replace(message, epoch=1)
    return [message, other] if message.seq == 1 else [message]


FAULTS = {
    "a message that is dropped": (dropping, 81, Findings(lost=2)),
    "messages that come twice": (doubling, 83, Findings(twice=3)),
    "messages that change places": (swapping, 83, Findings(disordered=2)),
    "messages of others": (mixing, 83, Findings(foreign=3)),
}


@pytest.mark.parametrize(("fault", "arrive", "found"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_is_counted(fault: Any, arrive: int, found: Findings) -> None:
    reports = await done(task(), FaultyBroker(fault=fault), arrive)
    assert result(reports).findings == found


async def test_users_of_an_overlay_publish_themselves() -> None:
    """Nobody gets what it said itself, and nobody misses it."""
    topic = "subchannel/0"
    users = (
        ReplayUser("ann", "token", "ann", (topic,), 1, ((topic, 4),)),
        ReplayUser("bob", "token", "bob", (topic,), 1, ((topic, 2),)),
    )
    streams = ((topic, "ann", 4), (topic, "bob", 2))
    todo = task(users=users, streams=streams)
    assert todo.expected == 6
    broker = FaultyBroker(axes=(Axis("x", (0.0, 1.0)),))
    assert result(await done(todo, broker)).findings == Findings()


async def test_a_broker_that_never_confirms_is_not_flooded() -> None:
    broker = FaultyBroker(confirms=False)
    work = asyncio.ensure_future(done(task(), broker))
    while len(broker.published) < WINDOW:
        await asyncio.sleep(0.01)
    for _ in range(20):  # turns in which it could send more
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert len(broker.published) == WINDOW


async def test_a_broker_that_takes_no_more_ends_the_replay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.runtime.load.worker.AWAY_SECONDS", 0.3)
    with pytest.raises(
        BrokerwiseError, match=r"no broker has taken a message for 0\.3"
    ):
        await done(task(), FaultyBroker(confirms=False))


async def test_messages_are_acknowledged() -> None:
    broker = FaultyBroker()
    users = (
        *task().users[:2],
        ReplayUser("replay", "", "replay/0", (), 0, (("news", 70),)),
    )
    await done(task(users=users, streams=(("news", "replay/0", 70),)), broker)
    assert broker.acknowledged["ann"] >= 64


async def test_a_session_that_is_lost_is_connected_again() -> None:
    """The broker has said no cursors, so what it sent meanwhile is known to be lost."""
    broker = FaultyBroker(hangs_up_after=10)
    todo = task(seconds=2.0)
    reports: list[WorkerReport] = []
    ready, finish = asyncio.Event(), asyncio.Event()
    ready.set()

    def tell(report: WorkerReport) -> None:
        reports.append(report)
        if isinstance(report, ReplayProgress) and report.published == 43:
            finish.set()

    parts = iter((ready, ready, finish))
    async with running(broker) as coordinator:
        here = msgspec.structs.replace(todo, coordinator=coordinator)
        await Worker(here, tell).run(lambda: next(parts).wait())
    found = result(reports).findings
    assert found.twice == found.disordered == found.foreign == 0
    assert sum(result(reports).latencies) == 83 - found.lost
    assert [login.user for login in broker.logins].count("ann") == 2


async def test_a_topic_that_the_broker_does_not_know_ends_the_replay() -> None:
    with pytest.raises(BrokerwiseError, match="there is no topic 'chess'"):
        await done(task(), FaultyBroker(unknown="chess"))


async def test_a_broker_that_is_not_there_ends_the_replay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.runtime.load.worker.SUBSCRIBE_SECONDS", 0.5)
    async with running(FaultyBroker()) as coordinator:
        pass
    worker = Worker(task(coordinator=coordinator), lambda report: None)
    with pytest.raises(
        BrokerwiseError, match=r"'(ann|bob)' is not served.*cannot reach"
    ):
        await worker.run(asyncio.Event().wait)


async def test_a_paced_replay_takes_its_time() -> None:
    began = asyncio.get_running_loop().time()
    await done(task(seconds=0.5), FaultyBroker())
    # the last message is sent a little before the end
    assert asyncio.get_running_loop().time() - began >= 0.45


def test_data_is_json_of_the_given_size() -> None:
    assert bytes(payload(5)) == b'"..."'
    assert bytes(payload(0)) == b'""'
    assert len(bytes(payload(10**9))) <= 1 << 20
    assert msgspec.json.decode(payload(100)) == "." * 98
