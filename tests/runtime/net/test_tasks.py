"""Waiting for a change, several tasks at once, and pauses before the next attempt."""

import asyncio
from functools import partial

import pytest
from tests.runtime.client.fake_fleet import run

from brokerwise.runtime.net.tasks import Backoff, Signal, few_at_a_time


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
