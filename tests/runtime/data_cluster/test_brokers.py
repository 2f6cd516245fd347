"""Brokers are told of new results, until they know."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.coordinator.fakes import run, until

from brokerwise.runtime.data_cluster import brokers
from brokerwise.runtime.data_cluster.brokers import MOST_TOLD, Notifier
from brokerwise.runtime.data_cluster.subscriptions import KnownBroker
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.protocol.data import Notification
from brokerwise.runtime.protocol.limits import REQUEST_SECONDS

T = TypeVar("T")
B0 = KnownBroker("b0", "http://b0", 1)
B1 = KnownBroker("b1", "http://b1", 1)


class Brokers:
    """What they are told; `fault` may raise instead, or wait."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Notification]] = []
        self.tries = 0
        self.fault: Callable[[str], Any] = lambda url: None
        self.heard: Callable[[tuple[int, ...]], None] = lambda numbers: None

    async def __call__(
        self,
        url: str,
        body: object,
        kind: type[T],
        *,
        method: str = "POST",
        token: str = "",
        seconds: float = REQUEST_SECONDS,
        ssl: ssl.SSLContext | None = None,
    ) -> T:
        assert isinstance(body, Notification)
        self.tries += 1
        waiting = self.fault(url)
        if waiting is not None:
            await waiting
        self.told.append((url, body))
        self.heard(body.subscriptionIds)
        return {}  # type: ignore[return-value]

    def ids(self, name: str = "b0") -> list[int]:
        found = [n.subscriptionIds for url, n in self.told if f"//{name}/" in url]
        return [number for numbers in found for number in numbers]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(brokers, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(brokers, "LONGEST_PAUSE", 0.05)
    yield


def refuse(url: str) -> None:
    raise UnreachableError(url, "it is down")


async def test_a_broker_that_is_down_is_told_when_it_is_up_and_others_at_once() -> None:
    brokers = Brokers()
    brokers.fault = lambda url: refuse(url) if "b0" in url else None
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1, 2], 5.0)
        notifier.tell(B1, "fires", [1], 5.0)
        await until(lambda: brokers.tries > 4)
        assert (brokers.ids("b0"), brokers.ids("b1")) == ([], [1])
        notifier.tell(B0, "floods", [7], 6.0)
        notifier.tell(B0, "fires", [2, 3], 6.5)
        brokers.fault = lambda url: None
        await until(lambda: len(brokers.ids()) == 4)
        assert sorted(brokers.ids()) == [1, 2, 3, 7]
    (fires,) = [n for u, n in brokers.told if n.channelName == "fires" and "b0" in u]
    assert fires == Notification(
        "fires", fires.subscriptionIds, channelExecutionEpochTime=6.5
    )


async def test_an_answer_that_is_an_error_is_no_answer() -> None:
    brokers = Brokers()

    def overloaded(url: str) -> None:
        if brokers.tries < 3:
            raise RefusedError(503, "not now", url)

    brokers.fault = overloaded
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1], 5.0)
        await until(lambda: brokers.ids() == [1])
        assert brokers.tries == 3


async def test_news_of_a_subscription_is_sent_once_until_it_is_pulled() -> None:
    brokers = Brokers()
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1, 2], 5.0)
        await until(lambda: brokers.ids() == [1, 2])
        notifier.tell(B0, "fires", [1, 2, 3], 6.0)
        await until(lambda: brokers.ids() == [1, 2, 3])
        notifier.pulled("b0", [1])
        notifier.pulled("stranger", [2])
        notifier.tell(B0, "fires", [1, 2, 3], 7.0)
        await until(lambda: brokers.ids() == [1, 2, 3, 1])


async def test_a_broker_that_pulls_before_its_answer_came_is_told_again_of_more() -> (
    None
):
    brokers = Brokers()
    answered = asyncio.Event()
    brokers.fault = lambda url: answered.wait()
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1], 5.0)
        await until(lambda: brokers.tries == 1)
        notifier.pulled("b0", [1])
        notifier.tell(B0, "fires", [1], 6.0)
        answered.set()
        await until(lambda: brokers.ids() == [1, 1])


async def test_what_was_pulled_while_its_answer_was_lost_is_not_told_again() -> None:
    brokers = Brokers()
    lost = asyncio.Event()

    async def lose() -> None:
        await lost.wait()
        brokers.fault = lambda url: None
        raise UnreachableError("http://b0", "the answer is lost")

    brokers.fault = lambda url: lose()
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1, 2], 5.0)
        await until(lambda: brokers.tries == 1)
        notifier.pulled("b0", [1])
        lost.set()
        await until(lambda: brokers.ids() == [2])


async def test_what_was_pulled_while_the_broker_could_not_be_told_is_not_told() -> None:
    brokers = Brokers()
    brokers.fault = refuse
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1, 2], 5.0)
        await until(lambda: brokers.tries > 1)
        notifier.pulled("b0", [1])
        brokers.fault = lambda url: None
        await until(lambda: brokers.ids() == [2])


async def test_under_a_new_epoch_a_broker_is_told_only_what_came_since() -> None:
    brokers = Brokers()
    brokers.fault = refuse
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", [1], 5.0)
        await until(lambda: brokers.tries > 1)
        brokers.fault = lambda url: None
        again = KnownBroker("b0", "http://b0/2", 2)
        notifier.tell(again, "fires", [2], 6.0)
        await until(lambda: brokers.ids() == [2])
        notifier.forget("b0")
        notifier.tell(again, "fires", [2], 7.0)
        await until(lambda: brokers.ids() == [2, 2])


async def test_very_many_subscriptions_go_in_several_notifications() -> None:
    brokers = Brokers()
    count = 2 * MOST_TOLD + 1
    async with Notifier(brokers, "token", None) as notifier:
        notifier.tell(B0, "fires", range(count), 5.0)
        await until(lambda: len(brokers.ids()) == count)
        assert [len(n.subscriptionIds) for _, n in brokers.told][-1] == 1
        assert brokers.ids() == list(range(count))


EVENT = st.one_of(
    st.tuples(st.just("news"), st.sets(st.integers(1, 3), min_size=1)),
    st.tuples(st.just("pull"), st.sets(st.integers(1, 3), min_size=1)),
    st.tuples(st.just("nothing"), st.just(set[int]())),
)


@given(events=st.lists(EVENT, max_size=20), failures=st.lists(st.booleans()))
def test_no_result_stays_unknown_to_a_broker_that_answers(
    events: list[tuple[str, set[int]]], failures: list[bool]
) -> None:
    async def work() -> None:
        log: list[tuple[str, int]] = []

        async def answer() -> None:
            await asyncio.sleep(0)
            if failures and failures.pop():
                raise UnreachableError("http://b0", "the answer is lost")

        brokers = Brokers()
        brokers.fault = lambda url: answer()
        brokers.heard = lambda numbers: log.extend(("heard", n) for n in numbers)
        async with Notifier(brokers, "token", None) as notifier:
            for what, numbers in events:
                log += [(what, number) for number in numbers]
                if what == "news":
                    notifier.tell(B0, "fires", numbers, 1.0)
                elif what == "pull":
                    notifier.pulled("b0", numbers)
                await asyncio.sleep(0)
            await until(lambda: all(knows(log, number) for number in (1, 2, 3)), 5)

    run(work())


def knows(log: list[tuple[str, int]], number: int) -> bool:
    """Since its newest result the broker has pulled, or since it last pulled it has
    been told, and will pull all that there is."""
    happened = [what for what, about in log if about == number]
    return (
        "news" not in happened
        or "pull" in _after_the_last(happened, "news")
        or "heard" in _after_the_last(happened, "pull")
    )


def _after_the_last(happened: list[str], what: str) -> list[str]:
    """All, if it did not happen."""
    newest_first = happened[::-1]
    end = newest_first.index(what) if what in happened else None
    return newest_first[:end]
