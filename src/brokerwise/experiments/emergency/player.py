"""Plays a share of a scenario's users: a process of its own, on one event loop.

Its task is a line of JSON on standard input; the next line, or the end of the input,
ends it. So 400 users do not disturb whoever measures.
"""

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import uvloop

from brokerwise.experiments.emergency.diary import Diary, write_diary
from brokerwise.experiments.emergency.player_tasks import (
    Done,
    Failure,
    Progress,
    Report,
    Task,
    as_line,
)
from brokerwise.experiments.emergency.scenario import Logout, read_scenario
from brokerwise.experiments.emergency.user_playing import Access, UserPlaying
from brokerwise.model.errors import BrokerwiseError

PROGRESS_SECONDS = 0.5


class Player:
    """All users of a task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._diary = Diary()
        self._users = self._cast()

    async def run(self, finish: "asyncio.Future[None]") -> None:
        """Play until told to finish; then write the diary. Raises the first error
        that ends a user's client."""
        tasks = [asyncio.ensure_future(user.run()) for user in self._users]
        tasks += [asyncio.ensure_future(user.failed()) for user in self._users]
        tasks.append(asyncio.ensure_future(self._beat()))
        everyone = asyncio.gather(*tasks)  # ends only by an error
        try:
            await asyncio.wait((everyone, finish), return_when=asyncio.FIRST_COMPLETED)
            if everyone.done():
                everyone.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, everyone, return_exceptions=True)
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


def main() -> None:
    # Ctrl-C in a terminal reaches us too; whoever started us ends us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    if line:
        uvloop.run(_run(msgspec.json.decode(line, type=Task)))


async def _run(task: Task) -> None:
    finish: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    work = asyncio.ensure_future(Player(task).run(finish))
    reading = asyncio.ensure_future(_read(finish))
    try:
        await asyncio.wait((work, reading), return_when=asyncio.FIRST_COMPLETED)
        if work.done() or finish.done():
            await work
            tell(Done())
    except BrokerwiseError as error:
        tell(Failure(error.message))
    finally:
        for each in (work, reading):
            each.cancel()
            with suppress(asyncio.CancelledError, BrokerwiseError):
                await each


async def _read(finish: "asyncio.Future[None]") -> None:
    """Returns when the input has another line, which means to finish, or ends."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        if await reader.readline() and not finish.done():
            finish.set_result(None)
    finally:
        transport.close()


def tell(report: Report) -> None:
    sys.stdout.buffer.write(as_line(report))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
