"""Taxis, each with a client of its own: they tell positions and hear updates."""

import asyncio
import time
from collections.abc import Sequence

import msgspec

from brokerwise.experiments.emergency.diary import UNSUBSCRIBED, Diary, Life
from brokerwise.experiments.taxi.city import Position
from brokerwise.experiments.taxi.definitions import GPS
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import GapTold
from brokerwise.runtime.protocol.names import channel_topic

SETTLED = 3  # positions in a region: then a taxi wants its updates, not the last one's
_encode = msgspec.json.Encoder().encode


class Taxi:
    """Tells its positions when their time has come, each to the topic of its region,
    and is subscribed to the updates of the region it is in: once it has been there for
    a few seconds, so that one that it only cuts a corner of does not count."""

    def __init__(
        self,
        name: str,
        client: Client,
        positions: Sequence[Position],
        channel: str,
        diary: Diary,
    ) -> None:
        self.told: list[tuple[Position, int]] = []
        self._name = name
        self._client = client
        self._positions = positions
        self._channel = channel
        self._diary = diary
        self._region = ""
        self._since: tuple[str, int] = ("", 0)
        self._lives: dict[str, int] = {}

    @property
    def lost(self) -> int:
        """Positions that no broker took, or that one had not confirmed when it went."""
        return self._client.unrouted + self._client.unconfirmed

    async def drive(self, began: float) -> None:
        """Returns when every broker has confirmed everything."""
        for position in self._positions:
            early = began + position.second - time.time()
            if early > 0:
                await asyncio.sleep(early)
            await self._tell(position)
            await self._look_around(position.region)
        await self._client.flush()

    async def _tell(self, position: Position) -> None:
        told_at = int(time.time() * 1000)
        topic = f"{GPS}{position.region}"
        await self._client.publish(topic, position.message(told_at))
        self.told.append((position, told_at))

    async def _look_around(self, region: str) -> None:
        before, count = self._since
        self._since = (region, count + 1 if region == before else 1)
        if region != self._region and (self._since[1] >= SETTLED or not self._region):
            old, self._region = self._region, region
            await self._subscribe(region)
            if old:
                await self._unsubscribe(channel_topic(self._channel, {"region": old}))

    async def _subscribe(self, region: str) -> None:
        topic = channel_topic(self._channel, {"region": region})
        life = Life(self._name, topic, latest=False, asked=time.time())
        self._lives[topic] = self._diary.begin(life)
        await self._client.subscribe_channel(self._channel, {"region": region})
        life.served = time.time()

    async def _unsubscribe(self, topic: str) -> None:
        await self._client.unsubscribe([topic])
        life = self._diary.lives[self._lives[topic]]
        life.ended, life.how = time.time(), UNSUBSCRIBED

    async def hear(self) -> None:
        """Note updates until cancelled."""
        async for event in self._client.events():
            now = time.time()
            if isinstance(event, GapTold):
                self._diary.gaps += event.missing or 1
            elif (life := self._lives.get(event.topic)) is None:
                self._diary.unexpected += 1
            else:
                text = _encode(event.data).decode()
                self._diary.note(life, event.epoch, event.seq, text, now)
