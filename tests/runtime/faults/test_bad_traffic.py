"""Guests who take too much or too little: each has an answer, and everyone else goes
on."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import pytest

from brokerwise.runtime.net.connection import mask_text
from brokerwise.runtime.net.http import ask
from brokerwise.runtime.protocol.fleet import RoutesAnswer, RoutesRequest
from brokerwise.runtime.protocol.frames import CloseCode
from brokerwise.runtime.protocol.limits import (
    ACK_EVERY,
    ACK_PATIENCE_SECONDS,
    LOGIN_SECONDS,
    MAX_UNACKNOWLEDGED,
    SESSION_QUEUE_BYTES,
)

from .besieged import Besieged
from .guests import Guest, opened_socket
from .load import until

pytestmark = pytest.mark.xdist_group("bad input")

MIB = 1 << 20
FLOOD_SECONDS = 2.0
TICK_SECONDS = 0.02


def published(topic: str, seq: int, size: int) -> bytes:
    """A message of so many bytes, framed and masked, ready to be written."""
    head = f'{{"type":"publish","topic":"{topic}","epoch":1,"seq":{seq},"data":"'
    return mask_text(head.encode() + b"x" * size + b'"}', b"\0\0\0\0")


async def write_all(one: Guest, frames: Iterable[bytes]) -> None:
    """Write as fast as the broker reads, whatever it says."""
    for number, frame in enumerate(frames):
        if one.closed is not None:
            return
        one.line.write(frame)
        if number % 64 == 0:
            await one.line.drained()
            await asyncio.sleep(0)


async def flood(one: Guest, frame: Callable[[int], bytes]) -> int:
    """Publish frames 1, 2, 3 ... for a while; returns how many."""
    loop = asyncio.get_running_loop()
    until_late = loop.time() + FLOOD_SECONDS
    sent = 0

    def frames() -> Iterable[bytes]:
        nonlocal sent
        while loop.time() < until_late:
            sent += 1
            yield frame(sent)

    await write_all(one, frames())
    return sent


def acknowledging(one: Guest) -> Callable[[bytes], None]:
    def acknowledge(text: bytes) -> None:
        if one.messages % ACK_EVERY == 0:
            one.say({"type": "ack", "count": one.messages})

    return acknowledge


@asynccontextmanager
async def reader_of(fleet: Besieged, user: str, topic: str) -> AsyncIterator[Guest]:
    """Somebody who reads a topic and acknowledges it as asked for."""
    async with fleet.visitor(user) as one:
        one.on_message = acknowledging(one)
        await one.subscribe(topic)
        yield one


class Stalls:
    """The seconds for which this very loop, which the flood comes from as well, was
    too busy to hear anything."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._total, self._due = 0.0, self._loop.time()

    def so_far(self) -> float:
        return self._total + max(0.0, self._loop.time() - self._due)

    async def count(self) -> None:
        while True:
            self._due = self._loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self._total = self.so_far()


class Calm:
    """One who publishes and one who subscribes, and the seconds that their slowest
    message took, less those that it lay here unread."""

    def __init__(self, publisher: Guest, subscriber: Guest, stalls: Stalls) -> None:
        self.slowest = 0.0
        self._publisher, self._subscriber = publisher, subscriber
        self._stalls = stalls

    async def go_on(self) -> None:
        epoch, count = time.time_ns() // 1_000_000, 0
        while True:
            began = self._clock()
            count += 1
            self._publisher.publish("calm", count, epoch)
            await self._subscriber.got(count)
            self.slowest = max(self.slowest, self._clock() - began)

    def _clock(self) -> float:
        return asyncio.get_running_loop().time() - self._stalls.so_far()


@asynccontextmanager
async def calm(fleet: Besieged) -> AsyncIterator[Calm]:
    """Meanwhile somebody else's messages on another topic do not wait until a flood is
    over."""
    async with (
        reader_of(fleet, "calm reader", "calm") as subscriber,
        fleet.visitor("calm writer") as publisher,
    ):
        stalls = Stalls()
        found = Calm(publisher, subscriber, stalls)
        going = asyncio.gather(stalls.count(), found.go_on())
        try:
            yield found
        finally:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)
        assert 0 < found.slowest < FLOOD_SECONDS


async def is_gone(fleet: Besieged, *users: str) -> None:
    """Wait until the broker serves these no longer."""
    while True:
        answer = await fleet.ask("GET", "/sessions", fleet.file.broker_token)
        if not set(users) & json.loads(answer.body).keys():
            return
        await asyncio.sleep(0.05)


def test_a_slow_reader_is_hung_up_on_before_it_costs_much(fleet: Besieged) -> None:
    users = [f"slow {number}" for number in range(4)]

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            slow = [await enter(fleet.visitor(user)) for user in users]
            for one in slow:
                await one.subscribe("stream")
                one.line.pause_reading()
            reader = await enter(reader_of(fleet, "quick", "stream"))
            writer = await enter(fleet.visitor("writer"))
            # What a socket holds is not the broker's.
            enough = range(1, 8 * SESSION_QUEUE_BYTES // 10_000)
            await write_all(writer, (published("stream", n, 10_000) for n in enough))
            await reader.got(len(enough), 20)
            await is_gone(fleet, *users)
            for one in slow:
                one.line.resume_reading()
                assert (await one.ended())[0] == CloseCode.SLOW_READER

    async def bounded() -> None:
        async with fleet.within(
            len(users) * (SESSION_QUEUE_BYTES + 4 * MIB) + 32 * MIB
        ):
            await scenario()

    fleet.survives(bounded())


@pytest.mark.parametrize("size", [10, 50_000])
def test_a_publisher_gone_mad_is_held_back(fleet: Besieged, size: int) -> None:
    topic = f"flooded {size}"

    async def scenario() -> None:
        async with (
            fleet.within(100 * MIB),
            reader_of(fleet, "wet", topic) as reader,
            fleet.visitor("mad") as mad,
            calm(fleet),
        ):
            sent = await flood(mad, lambda seq: published(topic, seq, size))
            await reader.got(sent, 20)
            await mad.told("published", count=sent)

    fleet.survives(scenario())


@pytest.mark.parametrize("size", [10, 50_000])
def test_messages_that_wait_for_one_that_never_comes_are_few(
    fleet: Besieged, size: int
) -> None:
    topic = f"holes {size}"

    async def scenario() -> None:
        async with (
            fleet.within(100 * MIB),
            reader_of(fleet, "patient", topic) as reader,
            fleet.visitor("mad") as mad,
            calm(fleet),
        ):
            sent = await flood(mad, lambda seq: published(topic, 2 * seq, size))
            await reader.got(sent, 20)

    fleet.survives(scenario())


async def topic_of(fleet: Besieged, broker: str) -> str:
    """A topic that nobody listens to, and that a certain broker carries."""
    url = f"{fleet.file.coordinator}/routes"
    asked = RoutesRequest(tuple(f"unheard {number}" for number in range(4)))
    answer = await ask(url, asked, RoutesAnswer, token=fleet.file.operator_token)
    return next(r.topic for r in answer.routes if r.brokers[0].broker == broker)


def test_what_is_passed_on_to_another_broker_does_not_pile_up(fleet: Besieged) -> None:
    async def scenario() -> None:
        topic = await topic_of(fleet, "b1")
        async with fleet.within(100 * MIB), fleet.visitor("mad") as mad, calm(fleet):
            sent = await flood(mad, lambda seq: published(topic, seq, 50_000))
            await mad.told("published", count=sent)
            load = await fleet.ask("GET", "/load", fleet.file.broker_token)
            assert json.loads(load.body)["dropped"] == 0

    fleet.survives(scenario())


def test_a_publisher_of_ever_new_topics_does_not_keep_others_from_theirs(
    fleet: Besieged,
) -> None:
    many = range(12_000)

    async def scenario() -> None:
        async with (
            fleet.visitor("mad") as mad,
            fleet.visitor("reader") as reader,
            fleet.visitor("ann") as ann,
        ):
            frames = (published(f"new/{number}", 1, 10) for number in many)
            await write_all(mad, frames)
            await mad.told("published", count=len(many))
            await reader.subscribe("new and heard")
            ann.publish("new and heard", 1)
            ann.publish("new and unheard", 1)
            await reader.got(1)
            await ann.told("stale_route", topic="new and unheard")

    fleet.survives(scenario())


def test_whoever_reads_but_never_acknowledges_is_hung_up_on(fleet: Besieged) -> None:
    async def scenario() -> None:
        async with fleet.visitor("silent") as silent, fleet.visitor("ann") as ann:
            await silent.subscribe("heard")
            many = range(1, MAX_UNACKNOWLEDGED + 1_000)
            await write_all(ann, (published("heard", n, 10) for n in many))
            code, reason = await silent.ended(20)
            assert code == CloseCode.NOT_ACKNOWLEDGING
            assert "messages not acknowledged" in reason
            assert silent.messages >= MAX_UNACKNOWLEDGED

    fleet.survives(scenario())


def test_five_hundred_logins_in_a_row_leave_nothing_behind(fleet: Besieged) -> None:
    async def scenario() -> None:
        before = fleet.open_files()
        async with fleet.within(16 * MIB):
            for number in range(500):
                async with fleet.visitor("restless") as restless:
                    if number % 2:
                        await restless.subscribe("now and then")
                    if number % 5 == 0:
                        await restless.log_out()
        await is_gone(fleet, "restless")
        await until(lambda: fleet.open_files() <= before, 5)

    fleet.survives(scenario())


CROWD = 1_000
SLACK_SECONDS = 4.0  # for a machine that has more to do


def test_a_thousand_connections_that_say_nothing_are_closed_in_time(
    fleet: Besieged,
) -> None:
    """And those that stop in the middle of a word; and who gets messages but never
    says that it has."""

    async def scenario() -> None:
        before = fleet.open_files()
        async with AsyncExitStack() as stack, fleet.visitor("ann") as ann:
            quiet = await stack.enter_async_context(fleet.visitor("quiet"))
            await quiet.subscribe("drop")
            ann.publish("drop", 1)
            opened = [stack.enter_async_context(fleet.guest()) for _ in range(CROWD)]
            guests = await in_groups(opened)
            plain = [
                stack.enter_async_context(opened_socket(fleet.url))
                for _ in range(CROWD)
            ]
            sockets = await in_groups(plain)
            for one in guests[:10]:
                one.line.write(published("never", 1, 1_000)[:100])
            halves = [b"GET /health HT", b"POST /publish HTTP/1.1\r\nHost: b\r\n"]
            halves.append(halves[1] + b"Content-Length: 5\r\n\r\n{}")
            cut_off = [asyncio.create_task(after(fleet, half)) for half in halves]
            loop = asyncio.get_running_loop()
            began = loop.time()
            for one in guests:
                assert (await one.ended(20))[0] == CloseCode.LOGIN_TIMEOUT
            for reader, _ in sockets:
                assert await reader.read() == b""
            for answer in await asyncio.gather(*cut_off):
                assert answer.startswith(b"HTTP/1.1 408 ")
            assert loop.time() - began < LOGIN_SECONDS + SLACK_SECONDS
            code, _ = await quiet.ended(ACK_PATIENCE_SECONDS + SLACK_SECONDS)
            assert code == CloseCode.NOT_ACKNOWLEDGING
            assert loop.time() - began < ACK_PATIENCE_SECONDS + SLACK_SECONDS
        await until(lambda: fleet.open_files() <= before, 5)

    fleet.survives(scenario())


T = TypeVar("T")


async def in_groups(opening: Sequence[Awaitable[T]]) -> list[T]:
    """All of them, a hundred at a time."""
    found: list[T] = []
    for start in range(0, len(opening), 100):
        found += await asyncio.gather(*opening[start : start + 100])
    return found


async def after(fleet: Besieged, said: bytes) -> bytes:
    async with opened_socket(fleet.url) as (reader, writer):
        writer.write(said)
        return await reader.read()
