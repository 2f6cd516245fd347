"""Clients of a real fleet, and of one that speaks TLS."""

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme
from tests.runtime.client.fake_fleet import fake_fleet, take, until
from tests.runtime.live import LiveFleet

from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.context import ClientOptions
from brokerwise.runtime.client.coordinator import CoordinatorClient
from brokerwise.runtime.client.errors import UnauthorizedError
from brokerwise.runtime.client.events import (
    Event,
    GapTold,
    Notice,
    Received,
    SessionMoved,
)
from brokerwise.runtime.net.http import ask
from brokerwise.runtime.protocol.fleet import Address, Route
from brokerwise.runtime.protocol.frames import Publish


def client_of(fleet: LiveFleet, user: str, notices: list[Notice]) -> Client:
    return Client(fleet.coordinator, user, fleet.token(user), on_notice=notices.append)


async def move(fleet: LiveFleet, user: str) -> None:
    """Order a move to the other broker, and wait until it is done."""
    token = fleet.operator_token
    at = f"{fleet.coordinator}/requestbroker"
    found = await ask(at, {"user": user, "topics": None}, dict, token=token)
    here = found["sessions"][0]["broker"]
    order = {"user": user, "from": here, "to": "b1" if here == "b0" else "b0"}
    moves = f"{fleet.coordinator}/moves"
    number = (await ask(moves, order, dict, token=token))["id"]
    state = ""
    while state != "done":
        assert state not in ("declined", "failed")
        await asyncio.sleep(0.02)
        answer = await ask(f"{moves}/{number}", None, dict, method="GET", token=token)
        state = answer["state"]


async def test_moves_under_load_lose_nothing_and_show_nothing_twice(
    two_brokers: LiveFleet,
) -> None:
    notices: list[Notice] = []
    seen: list[int] = []
    async with (
        client_of(two_brokers, "mover", notices) as subscriber,
        client_of(two_brokers, "press", notices) as publisher,
    ):
        await subscriber.subscribe(["moving news"])
        over = asyncio.Event()

        async def pour() -> int:
            sent = 0
            while not over.is_set():
                sent += 1
                await publisher.publish("moving news", {"n": sent})
                await asyncio.sleep(0.001)
            await publisher.flush()
            return sent

        async def listen() -> None:
            async for event in subscriber.events():
                assert isinstance(event, Received)
                assert event.data == {"n": event.seq}
                seen.append(event.seq)

        pouring = asyncio.create_task(pour())
        listening = asyncio.create_task(listen())
        for _ in range(4):
            await move(two_brokers, "mover")
        over.set()
        sent = await pouring
        await until(lambda: len(seen) >= sent)
    await listening
    assert seen == list(range(1, sent + 1))
    assert sum(isinstance(notice, SessionMoved) for notice in notices) == 4
    assert publisher.unconfirmed == publisher.unrouted == 0


async def test_a_client_that_publishes_what_it_subscribes_to_hears_itself(
    two_brokers: LiveFleet,
) -> None:
    async with client_of(two_brokers, "echo", []) as client:
        await client.subscribe(["echoes"])
        for number in range(3):
            await client.publish("echoes", number)
        found = await take(client, 3)
    assert [e.data for e in found if isinstance(e, Received)] == [0, 1, 2]


async def test_someone_who_comes_later_misses_nothing_that_it_was_promised(
    two_brokers: LiveFleet,
) -> None:
    async with (
        client_of(two_brokers, "early", []) as early,
        client_of(two_brokers, "late", []) as late,
    ):
        await early.publish("later", 0)
        await early.flush()
        await late.subscribe(["later"])
        for number in range(1, 4):
            await early.publish("later", number)
        found = await take(late, 3)
    assert not any(isinstance(event, GapTold) for event in found)
    assert [e.data for e in found if isinstance(e, Received)] == [1, 2, 3]


async def test_a_token_of_someone_else_is_refused(two_brokers: LiveFleet) -> None:
    token = two_brokers.token("someone")
    async with Client(two_brokers.coordinator, "someone else", token) as client:
        with pytest.raises(UnauthorizedError):
            await client.subscribe(["news"])
    with pytest.raises(UnauthorizedError):
        await CoordinatorClient(two_brokers.coordinator, token, None).register_user("x")


async def test_a_fleet_that_speaks_tls_is_trusted_by_its_authority_only(
    tmp_path: Path,
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    pem = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(pem))
    stranger = tmp_path / "stranger.pem"
    trustme.CA().cert_pem.write_to_path(str(stranger))

    async with fake_fleet(1, context) as fleet:
        async with fleet.client(authority=str(pem)) as client:
            await client.subscribe(["news"])
            fleet.brokers[0].deliver("news", 1, "secret")
            (found,) = await take(client, 1)
        assert isinstance(found, Received) and found.data == "secret"
        async with fleet.client(authority=str(stranger)) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await client.subscribe(["news"])


async def test_events_can_be_had_as_they_come() -> None:
    """A failing application does not end the connection."""
    found: list[int] = []

    def take_one(event: Event) -> None:
        assert isinstance(event, Received)
        found.append(event.seq)
        if event.seq == 2:
            raise ValueError("of the application")

    failures: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: failures.append(context["message"])
    )
    async with fake_fleet() as fleet:
        options = ClientOptions(on_event=take_one)
        async with fleet.client(options=options) as client:
            await client.subscribe(["news"])
            for seq in (1, 2, 3):
                fleet.brokers[0].deliver("news", seq)
            await until(lambda: found == [1, 2, 3])
    assert failures == ["on_event failed"]


async def test_what_a_broker_should_not_have_sent_is_told_apart() -> None:
    """Twice, too late, or of a topic that nobody wants; none of it is an event."""
    needless: list[tuple[str, int]] = []
    options = ClientOptions(on_needless=lambda m: needless.append((m.topic, m.seq)))
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client(options=options) as client:
            await client.subscribe(["news"])
            for seq in (1, 2, 2, 4, 3, 5):
                broker.deliver("news", seq)
            for topics in broker.topics.values():
                topics.add("chess")
            broker.deliver("chess", 1)
            events = await take(client, 5)
            await until(lambda: len(needless) == 3)
    seqs = [event.seq for event in events if isinstance(event, Received)]
    assert seqs == [1, 2, 4, 5]
    assert GapTold("news", "paper", 1) in events
    assert needless == [("news", 2), ("news", 3), ("chess", 1)]


async def test_a_client_may_leave_fewer_messages_unconfirmed_than_allowed() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        here = (Address(broker.name, broker.url),)
        fleet.coordinator.routes["news"] = Route("news", 1, here)
        broker.confirms = False
        options = ClientOptions(window=3, epoch=77)
        async with fleet.client(options=options) as client:
            for _ in range(3):
                await client.publish("news", None)
            more = asyncio.ensure_future(client.publish("news", None))
            await until(lambda: len(broker.all_heard(Publish)) == 3)
            for _ in range(20):
                await asyncio.sleep(0)
            assert not more.done()
            for connection in list(broker.published):
                broker.confirm(connection)
            await more
        assert {message.epoch for message in broker.all_heard(Publish)} == {77}
