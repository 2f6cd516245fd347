"""Lines that wait for somebody who reads, or does not."""

import asyncio

from tests.runtime.coordinator.fakes import run

from brokerwise.runtime.coordinator.watch.memory import KEPT_EVENTS
from brokerwise.runtime.coordinator.watch.server import Mailbox


def test_what_begins_comes_first_and_whole() -> None:
    async def work() -> None:
        box = Mailbox()
        box.put("tick", b"t1\n")
        for number in range(2 * KEPT_EVENTS):
            box.begin(b"%d " % number)
        first = await anext(box)
        numbers = b"".join(b"%d " % number for number in range(2 * KEPT_EVENTS))
        assert first == numbers + b"t1\n"

    run(work())


def test_a_slow_reader_gets_the_newest_of_each_kind_and_the_last_events() -> None:
    async def work() -> None:
        box = Mailbox()
        for number in range(1_000):
            box.put("tick", b"tick %d\n" % number)
            box.put("topics", b"topics %d\n" % number)
            box.put_event(b"event %d\n" % number)
        lines = (await anext(box)).splitlines()
        assert lines[-2:] == [b"tick 999", b"topics 999"]
        assert lines[:-2] == [b"event %d" % n for n in range(900, 1_000)]

    run(work())


def test_a_reader_waits_for_the_next_line_and_gets_it_once() -> None:
    async def work() -> None:
        box = Mailbox()
        reading = asyncio.ensure_future(anext(box))
        await asyncio.sleep(0)
        assert not reading.done()
        box.put("tick", b"one")
        assert await reading == b"one"
        box.put_event(b"two")
        assert await anext(box) == b"two"

    run(work())


def test_who_is_cancelled_has_lost_nothing() -> None:
    async def work() -> None:
        box = Mailbox()
        reading = asyncio.ensure_future(anext(box))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        box.put("tick", b"one")
        assert await anext(box) == b"one"

    run(work())


def test_once_it_is_closed_what_waits_is_read_and_then_it_is_over() -> None:
    async def work() -> None:
        box = Mailbox()
        box.put("tick", b"last")
        box.close()
        assert [content async for content in box] == [b"last"]
        assert [content async for content in box] == []

    run(work())
