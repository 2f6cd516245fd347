"""Channels, as the client sees them: names, where they begin, what was dealt with."""

import asyncio

import pytest
from tests.runtime.client.fake_fleet import (
    FakeBroker,
    fake_fleet,
    take,
    until,
)

from brokerwise.model.errors import InputError
from brokerwise.runtime.client.events import Received
from brokerwise.runtime.protocol.frames import Ack, Publish, Subscribe, Unsubscribe
from brokerwise.runtime.protocol.names import SOURCE

FIRE = "channel/near?type=fire"


def cursors(broker: FakeBroker) -> list[tuple[str, str, int, int]]:
    return [row for ack in broker.all_heard(Ack) for row in ack.cursors]


async def test_a_channel_is_asked_for_by_its_name_and_apart_from_other_topics() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client("ann") as client:
            topic = await client.subscribe_channel("near", {"type": "fire"})
            assert topic == FIRE
            await client.subscribe(["news"])
            late = await client.subscribe_channel(
                "near", {"x": 1.0, "all": True, "n": 2}, latest=True
            )
            assert late == "channel/near?all=true&n=2&x=1.0"
            assert [(f.topics, f.latest) for f in broker.all_heard(Subscribe)] == [
                ((FIRE,), False),
                (("news",), False),
                ((late,), True),
            ]
            with pytest.raises(InputError, match="at most 256"):
                await client.subscribe_channel("near", {"type": "x" * 300})


async def test_what_was_dealt_with_is_acknowledged_not_what_has_come() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        broker.cursors = [(FIRE, SOURCE, 1, 0)]
        async with fleet.client("ann") as client:
            await client.subscribe_channel("near", {"type": "fire"})
            for seq in (1, 2, 3):
                broker.deliver(FIRE, seq)
            assert len(await take(client, 2)) == 2
            await until(lambda: (FIRE, SOURCE, 1, 1) in cursors(broker))
            await until(lambda: any(a.count == 3 for a in broker.all_heard(Ack)))
            assert max(cursors(broker))[3] == 1, "the second is in its hands still"
        await until(lambda: (FIRE, SOURCE, 1, 2) in cursors(broker))
        assert max(cursors(broker))[3] == 2, "the third it has never had"


async def test_an_application_that_fails_has_not_dealt_with_what_it_had() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        broker.cursors = [(FIRE, SOURCE, 1, 0)]
        with pytest.raises(ZeroDivisionError):
            async with fleet.client("ann") as client:
                await client.subscribe_channel("near", {"type": "fire"})
                broker.deliver(FIRE, 1)
                await take(client, 1)
                raise ZeroDivisionError
        await until(lambda: broker.closed_with)
        assert cursors(broker) == []


async def test_the_next_broker_hears_what_was_dealt_with_and_what_has_come() -> None:
    async with fake_fleet(2) as fleet:
        first, second = fleet.brokers
        first.cursors = second.cursors = [(FIRE, SOURCE, 1, 0)]
        fleet.coordinator.sessions = (first.place(),)
        async with fleet.client("ann") as client:
            await client.subscribe_channel("near", {"type": "fire"})
            for seq in (1, 2, 3):
                first.deliver(FIRE, seq)
            await take(client, 3)
            await until(lambda: (FIRE, SOURCE, 1, 2) in cursors(first))
            fleet.coordinator.sessions = (second.place(),)
            first.refuses = 4503
            second.cursors = [(FIRE, SOURCE, 1, 3)]
            first.vanish()
            await until(lambda: second.all_heard(Subscribe))
            assert second.all_heard(Subscribe)[0].cursors == ((FIRE, SOURCE, 1, 3),)
            await until(lambda: (FIRE, SOURCE, 1, 2) in cursors(second))


async def test_to_unsubscribe_ends_it_and_records_go_to_the_broker_of_the_session() -> (
    None
):
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        async with fleet.client("ann") as client:
            topic = await client.subscribe_channel("near", {"type": "fire"})
            await client.feed("places", {"user": "ann", "x": 1})
            await until(lambda: broker.all_heard(Publish))
            published = broker.all_heard(Publish)[0]
            assert (published.topic, published.generation) == ("dataset/places", 0)
            assert len(broker.users) == 1
            await client.unsubscribe([topic])
            await until(lambda: broker.all_heard(Unsubscribe))
            assert broker.all_heard(Unsubscribe) == [Unsubscribe(0, (FIRE,), False)]


async def test_events_of_channels_and_topics_come_through_one_iterator() -> None:
    async with fake_fleet() as fleet:
        broker = fleet.brokers[0]
        broker.cursors = [(FIRE, SOURCE, 1, 0)]
        async with fleet.client("ann") as client:
            await asyncio.gather(
                client.subscribe_channel("near", {"type": "fire"}),
                client.subscribe(["news"]),
            )
            broker.deliver(FIRE, 1, {"id": 5})
            broker.deliver("news", 1, "hello")
            events = await take(client, 2)
            found = {e.source: e.data for e in events if isinstance(e, Received)}
            assert found == {SOURCE: {"id": 5}, "paper": "hello"}
