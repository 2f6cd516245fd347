"""Waiting, backing off, and one timer for everyone."""

import asyncio
from functools import partial

import pytest
from tests.runtime.client.fake_fleet import run, until

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.events import GapTold
from brokerwise.runtime.client.inbox import LOW_MARK, MOST_EVENTS, Inbox
from brokerwise.runtime.client.pulse import Pulse
from brokerwise.runtime.net.waiting import Backoff, Signal, few_at_a_time


def test_pauses_double_up_to_a_second_and_are_never_shorter_than_half() -> None:
    backoff = Backoff()
    full = [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    for expected in full:
        assert expected / 2 <= backoff.pause() <= expected


def test_a_few_at_a_time_give_what_they_give_in_order() -> None:
    busy, most = 0, 0

    async def work(number: int) -> int:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1
        return number

    works = [partial(work, number) for number in range(9)]
    assert run(few_at_a_time(works, 3)) == list(range(9))
    assert most == 3


def test_the_first_that_fails_ends_the_others() -> None:
    ended = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ConnectionError("refused")

    with pytest.raises(ConnectionError, match="refused"):
        run(few_at_a_time([wait, fail], 2))
    assert ended == ["waiting"]


def test_a_signal_wakes_all_who_wait_and_forgets_who_gave_up() -> None:
    async def story() -> None:
        signal = Signal()
        signal.notify()
        waiting = [asyncio.create_task(signal.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.gather(waiting[0], return_exceptions=True)
        signal.notify()
        await asyncio.gather(*waiting[1:])
        await signal.wait(0.001)

    run(story())


def test_a_full_inbox_says_so_once_and_again_when_there_is_room() -> None:
    async def story() -> None:
        said: list[str] = []
        inbox = Inbox(lambda: said.append("full"), lambda: said.append("room"))
        for number in range(MOST_EVENTS + 5):
            inbox.add([GapTold("news", "p", number)])
        assert said == ["full"]
        for number in range(MOST_EVENTS + 5):
            found = await anext(inbox)
            assert isinstance(found, GapTold) and found.missing == number
            assert inbox.is_full == (number < MOST_EVENTS + 4 - LOW_MARK)
        assert said == ["full", "room"]

    run(story())


def test_a_failed_inbox_gives_what_it_has_and_then_the_error() -> None:
    async def story() -> None:
        inbox = Inbox(lambda: None, lambda: None)
        inbox.add([GapTold("news", "p", 1)])
        inbox.close(BrokerwiseError("over"))
        inbox.close()
        assert await anext(inbox) == GapTold("news", "p", 1)
        with pytest.raises(BrokerwiseError, match="over"):
            await anext(inbox)

    run(story())


def test_everyone_on_a_loop_shares_one_pulse_which_rests_when_nobody_watches() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        pulse = Pulse.of(loop)
        assert Pulse.of(loop) is pulse
        ticks: list[float] = []
        owed: list[str] = []

        def settle() -> None:
            owed.append("settled")

        pulse.watch(ticks.append)
        pulse.soon(settle)
        pulse.soon(settle)
        await until(lambda: ticks and owed)
        assert owed == ["settled"]
        pulse.unwatch(ticks.append)
        pulse.unwatch(ticks.append)
        assert not pulse.is_ticking

    run(story())
