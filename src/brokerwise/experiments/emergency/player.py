"""Plays a share of a scenario's users, each with a real client, on one event loop: a
worker of the load generator (`runtime/load/processes.py`), so that 400 users do not
disturb who measures. Once told to go on, it writes down what they got."""

import asyncio
import sys
from pathlib import Path

import msgspec

from brokerwise.experiments.emergency.diary import Diary, write_diary
from brokerwise.experiments.emergency.scenario import Logout, read_scenario
from brokerwise.experiments.emergency.user_playing import Access, UserPlaying
from brokerwise.runtime.load.processes import GoOn, run_worker, tell

COMMAND = (sys.executable, "-m", "brokerwise.experiments.emergency.player")
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


Report = Progress | Done


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
