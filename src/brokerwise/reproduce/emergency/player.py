"""Plays a share of a scenario's users, each with a real client, on one event loop: a
worker of the load generator (`runtime/load/processes.py`), so that 400 users do not
disturb who measures. Once told to go on, it writes down what they got.
"""

import asyncio
import sys
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.reproduce.emergency.city import LOCATIONS
from brokerwise.reproduce.emergency.records import (
    LOGGED_OUT,
    ONLINE,
    UNSUBSCRIBED,
    Diary,
    Life,
    write_diary,
)
from brokerwise.reproduce.emergency.scenario import (
    Action,
    Login,
    Logout,
    Subscribe,
    Track,
    Unsubscribe,
    read_scenario,
)
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import Event, GapTold, Received
from brokerwise.runtime.load.processes import GoOn, run_worker, tell
from brokerwise.runtime.protocol.names import SOURCE, channel_topic

# One user, played with a real client


NOTICES = "notices"  # a direct topic, beside the channels
LOCATION_SECONDS = 1.0  # between two of a user's locations
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Access:
    """How a user gets into the fleet; `began`: the scenario's time 0, seconds since
    1970."""

    coordinator: str
    token: str
    authority: str | None
    began: float


class UserPlaying:
    """Does what the scenario says when it says so, or as soon after as it can.
    With `notices` it also subscribes to the direct topic."""

    def __init__(
        self,
        user: str,
        actions: Iterable[Action],
        access: Access,
        diary: Diary,
        *,
        notices: bool = False,
    ) -> None:
        self._user, self._actions = user, list(actions)
        self._access, self._diary = access, diary
        self._notices = notices
        self._track = Track(user, self._actions)
        self._wanted: dict[str, Subscribe] = {}
        self._lives: dict[str, int] = {}
        self._session: _Session | None = None
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def failed(self) -> None:
        """Ends only by raising what has ended the user's client."""
        await self._failure

    async def run(self) -> None:
        """Until nothing is left to do; then the user stays as it is. Cancelling it
        leaves a session open: `close` it."""
        for action in self._actions:
            early = self._access.began + action.at - time.time()
            if early > 0:
                await asyncio.sleep(early)
            await self._do(action)

    @property
    def is_online(self) -> bool:
        return self._session is not None

    async def close(self) -> None:
        """The end: whoever is online has been until now."""
        await self._leave(ONLINE)

    async def _do(self, action: Action) -> None:
        match action:
            case Login(latest=latest):
                await self._log_in(latest)
            case Logout():
                await self._leave(LOGGED_OUT)
            case Subscribe(channel=channel, parameters=parameters):
                self._wanted[channel_topic(channel, parameters)] = action
                await self._subscribe(action, latest=False)
            case Unsubscribe(channel=channel, parameters=parameters):
                await self._unsubscribe(channel_topic(channel, parameters))
            case _:
                pass  # moves are on its track

    async def _log_in(self, latest: bool) -> None:
        if self._session is None:
            self._session = await _Session.open(self)
            for wanted in self._wanted.values():
                await self._subscribe(wanted, latest)
            if self._notices:
                await self._session.client.subscribe([NOTICES])

    async def _leave(self, how: str) -> None:
        """The client is told that all it handed over has been dealt with."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            for life in self._lives.values():
                self._end(life, how)
            self._lives.clear()

    async def _subscribe(self, wanted: Subscribe, latest: bool) -> None:
        if self._session is None:
            return  # when it is back
        topic = channel_topic(wanted.channel, wanted.parameters)
        life = Life(self._user, topic, latest, asked=time.time())
        self._lives[topic] = self._diary.begin(life)
        await self._session.client.subscribe_channel(
            wanted.channel, wanted.parameters, latest=latest
        )
        life.served = time.time()

    async def _unsubscribe(self, topic: str) -> None:
        self._wanted.pop(topic, None)
        if self._session is not None and topic in self._lives:
            await self._session.client.unsubscribe([topic])
            self._end(self._lives[topic], UNSUBSCRIBED)

    def _end(self, life: int, how: str) -> None:
        found = self._diary.lives[life]
        if found.ended is None:
            found.ended, found.how = time.time(), how

    # What its session does

    def open_client(self) -> Client:
        access = self._access
        return Client(
            access.coordinator, self._user, access.token, authority=access.authority
        )

    def take(self, event: Event) -> None:
        now = time.time()
        if isinstance(event, GapTold):
            if event.source == SOURCE:  # direct topics may have some
                self._diary.gaps += event.missing or 1
        elif event.source == SOURCE:
            self._take_result(event, now)
        elif event.topic == NOTICES:
            self._diary.notice(self._user, event.seq, event.at / 1000, now)

    def _take_result(self, event: Received, now: float) -> None:
        life = self._lives.get(event.topic)
        if life is None:
            self._diary.unexpected += 1
        else:
            text = _encode(event.data).decode()
            self._diary.note(life, event.epoch, event.seq, text, now)

    def fail(self, error: BrokerwiseError) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)

    def location(self) -> dict[str, str | float | int]:
        now = time.time()
        place = self._track.place_at(now - self._access.began)
        at = int(now * 1000)
        return {"user": self._user, "x": place.x, "y": place.y, "at": at}


class _Session:
    """A client that is open, and what goes on meanwhile."""

    def __init__(self, player: UserPlaying, client: Client) -> None:
        self.client = client
        self._player = player
        self._tasks = [
            asyncio.ensure_future(self._guard(self._read())),
            asyncio.ensure_future(self._guard(self._tell_locations())),
        ]

    @classmethod
    async def open(cls, player: UserPlaying) -> "_Session":
        return cls(player, await player.open_client().__aenter__())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self.client.close()

    async def _guard(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except BrokerwiseError as error:
            self._player.fail(error)

    async def _read(self) -> None:
        async for event in self.client.events():
            self._player.take(event)

    async def _tell_locations(self) -> None:
        while True:
            await self.client.feed(LOCATIONS.name, self._player.location())
            await asyncio.sleep(LOCATION_SECONDS)


# The process


COMMAND = (sys.executable, "-m", "brokerwise.reproduce.emergency.player")
PROGRESS_SECONDS = 0.5


class Task(msgspec.Struct, frozen=True):
    """A share of a scenario's users, each with its token. `began` is the scenario's
    time 0, seconds since 1970; some of the users also hear `notices`. What they get is
    written to the directory `diary`."""

    scenario: str
    coordinator: str
    tokens: dict[str, str]
    began: float
    diary: str
    authority: str = ""
    notices: int = 0


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    online: int
    subscribed: int
    handed: int


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The diary is written."""


PlayerReport = Progress | Done


class Player:
    """All users of a task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._diary = Diary()
        self._users = self._cast()

    async def run(self, go_on: GoOn) -> None:
        """Play until told to go on; then write the diary. Raises the first error that
        ends a user's client."""
        finish = asyncio.ensure_future(go_on())
        tasks = [asyncio.ensure_future(user.run()) for user in self._users]
        tasks += [asyncio.ensure_future(user.failed()) for user in self._users]
        tasks.append(asyncio.ensure_future(self._beat()))
        everyone = asyncio.gather(*tasks)  # ends only by an error
        try:
            await asyncio.wait((everyone, finish), return_when=asyncio.FIRST_COMPLETED)
            if everyone.done():
                everyone.result()
        finally:
            for task in (finish, *tasks):
                task.cancel()
            await asyncio.gather(finish, *tasks, everyone, return_exceptions=True)
            await asyncio.gather(*(user.close() for user in self._users))
        write_diary(self._diary, Path(self._task.diary))

    def _cast(self) -> list[UserPlaying]:
        task = self._task
        actions = read_scenario(Path(task.scenario)).of_user()
        staying = [
            user
            for user in task.tokens
            if not any(isinstance(action, Logout) for action in actions[user])
        ]
        hearing = set(staying[: task.notices])
        return [
            UserPlaying(
                user,
                actions[user],
                Access(task.coordinator, token, task.authority or None, task.began),
                self._diary,
                notices=user in hearing,
            )
            for user, token in task.tokens.items()
        ]

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            online = sum(user.is_online for user in self._users)
            served = sum(
                life.served is not None and life.ended is None
                for life in self._diary.lives
            )
            tell(Progress(online, served, len(self._diary.handed.seq)))


async def _play(line: bytes, go_on: GoOn) -> None:
    await Player(msgspec.json.decode(line, type=Task)).run(go_on)
    tell(Done())


if __name__ == "__main__":
    run_worker(_play)
