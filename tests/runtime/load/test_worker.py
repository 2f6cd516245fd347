"""The order of a period's messages."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.load.faulty_broker import FaultyBroker, running

from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.crew import (
    Begin,
    Command,
    Connected,
    Failure,
    Finish,
    Line,
    Progress,
    Report,
    Result,
    Speech,
    Task,
)
from brokerwise.runtime.load.worker import WINDOW, Worker, payload, schedule
from brokerwise.runtime.protocol.frames import Message


@given(st.lists(st.integers(0, 30), max_size=8))
def test_every_message_comes_once_within_the_period_and_in_order(
    counts: list[int],
) -> None:
    messages = list(schedule(counts))
    times = [at for at, _ in messages]
    assert times == sorted(times)
    assert all(0 <= at < 1 + 1e-9 for at in times)
    sent = Counter(index for _, index in messages)
    assert [sent[i] for i in range(len(counts))] == counts


@given(st.integers(1, 40), st.integers(1, 40))
def test_topics_take_turns_by_their_rates(a: int, b: int) -> None:
    """At no time is a topic more than a message ahead of or behind its share."""
    said = [0, 0]
    for at, index in schedule([a, b]):
        said[index] += 1
        for count, total in zip(said, (a, b), strict=True):
            assert abs(count - at * total) <= 1 + 1e-6


def test_topics_of_one_rate_do_not_speak_at_once() -> None:
    first = [at for at, _ in schedule([1] * 5)]
    assert min(b - a for a, b in pairwise(first)) > 0.05


T = TypeVar("T")
SECONDS = 20.0


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, SECONDS))


def task(**changes: Any) -> Task:
    """Two subscribers of news, one also of chess, and a publisher of both."""
    publisher = Line("replay", "token", "b0", "replay/0")
    lines = (
        Line("ann", "token", "b0", "", ("news",)),
        Line("bob", "token", "b0", "", ("news", "chess")),
        publisher,
    )
    facts: dict[str, Any] = {
        "epoch": 7,
        "brokers": {},
        "lines": lines,
        "speeches": (Speech("news", 40, (2,)), Speech("chess", 3, (2,))),
        "streams": (("news", "replay/0", 40), ("chess", "replay/0", 3)),
    }
    return Task(**(facts | changes))


async def done(
    todo: Task, broker: FaultyBroker, expected: int | None = None
) -> list[Report]:
    """What a worker reports; it is told to finish once it has got `expected`."""
    reports: list[Report] = []
    finish = asyncio.Event()
    commands: list[Command] = [Begin({"news": 5}), Finish()]

    def tell(report: Report) -> None:
        reports.append(report)
        wanted = todo.expected if expected is None else expected
        if isinstance(report, Progress) and report.arrived >= wanted:
            finish.set()

    async def command() -> Command:
        if len(commands) == 1:
            await finish.wait()
        return commands.pop(0)

    async with running(broker) as url:
        here = msgspec.structs.replace(todo, brokers={"b0": url})
        await Worker(here, tell).run(command)
    return reports


def result(reports: list[Report]) -> Result:
    last = reports[-1]
    assert isinstance(last, Result), last
    return last


def test_all_messages_come_once_and_in_order() -> None:
    broker = FaultyBroker()
    reports = run(done(task(message_bytes=50), broker))
    assert Connected(3) in reports
    assert Progress(43, 83) in reports
    assert result(reports).findings == Findings()
    assert sum(result(reports).latencies) == 83
    assert {p.generation for p in broker.published if p.topic == "news"} == {5}
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
def test_a_fault_is_counted(fault: Any, arrive: int, found: Findings) -> None:
    reports = run(done(task(), FaultyBroker(fault=fault), arrive))
    assert result(reports).findings == found


def test_users_of_an_overlay_publish_themselves() -> None:
    """Nobody gets what it said itself, and nobody misses it."""
    lines = (
        Line("ann", "token", "b0", "ann", ("subchannel/0",)),
        Line("bob", "token", "b0", "bob", ("subchannel/0",)),
    )
    speeches = (Speech("subchannel/0", 4, (0,)), Speech("subchannel/0", 2, (1,)))
    streams = (("subchannel/0", "ann", 4), ("subchannel/0", "bob", 2))
    todo = task(lines=lines, speeches=speeches, streams=streams)
    assert todo.expected == 6
    reports = run(done(todo, FaultyBroker()))
    assert result(reports).findings == Findings()


def test_a_broker_that_never_confirms_is_not_flooded() -> None:
    broker = FaultyBroker(confirms=False)

    async def flooded() -> None:
        work = asyncio.ensure_future(done(task(), broker))
        while len(broker.published) < WINDOW:
            await asyncio.sleep(0.01)
        for _ in range(20):  # turns in which it could send more
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    run(flooded())
    assert len(broker.published) == WINDOW


def test_messages_are_acknowledged() -> None:
    broker = FaultyBroker()
    speeches, streams = (Speech("news", 70, (2,)),), (("news", "replay/0", 70),)
    run(done(task(speeches=speeches, streams=streams), broker))
    assert broker.acknowledged["ann"] >= 64


def test_a_session_that_is_lost_ends_the_replay() -> None:
    reports = run(done(task(), FaultyBroker(hangs_up_after=10)))
    assert isinstance(reports[-1], Failure)
    assert reports[-1].message.startswith("the session of ")
    assert reports[-1].message.endswith(
        " on broker 'b0' was closed: the broker leaves (4503)"
    )


def test_a_topic_that_the_broker_does_not_know_ends_the_replay() -> None:
    reports = run(done(task(), FaultyBroker(unknown="chess")))
    assert reports[-1] == Failure(
        "the session of 'bob' on broker 'b0' was told: there is no topic 'chess'"
    )


def test_a_broker_that_is_not_there_ends_the_replay() -> None:
    async def alone() -> list[Report]:
        reports: list[Report] = []
        async with running(FaultyBroker()) as url:
            pass
        todo = task(brokers={"b0": url})
        await Worker(todo, reports.append).run(asyncio.Event().wait)  # type: ignore[arg-type]
        return reports

    (report,) = run(alone())
    assert isinstance(report, Failure)
    assert "cannot be had: cannot reach ws://" in report.message


def test_a_paced_replay_takes_its_time() -> None:
    async def timed() -> float:
        began = asyncio.get_running_loop().time()
        await done(task(seconds=0.5), FaultyBroker())
        return asyncio.get_running_loop().time() - began

    assert run(timed()) >= 0.45  # the last message is sent a little before the end


def test_data_is_json_of_the_given_size() -> None:
    assert bytes(payload(5)) == b'"..."'
    assert bytes(payload(0)) == b'""'
    assert len(bytes(payload(10**9))) <= 1 << 20
    assert msgspec.json.decode(payload(100)) == "." * 98
