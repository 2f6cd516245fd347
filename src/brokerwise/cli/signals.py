"""Being told to end, for commands that have to put something in order first."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Told = asyncio.Queue[signal.Signals]


@contextmanager
def told_to_end() -> Iterator[Told]:
    """What this process was told, in order, while a loop runs in the main thread."""
    loop = asyncio.get_running_loop()
    told: Told = asyncio.Queue()
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        loop.add_signal_handler(number, told.put_nowait, number)
    try:
        yield told
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def first_of(*works: Coroutine[Any, Any, Any]) -> Any:
    """Run them until one is done, end the others, and give its result.

    Raises what the one that is done raised. The others are cancelled and waited
    for, so whatever they hold is in order when this returns.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return next(task for task in tasks if task in done).result()


def run_until_told(
    work: Coroutine[Any, Any, T],
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> T:
    """Run something to its end; told to end before, it is cancelled and waited for,
    and KeyboardInterrupt raised.

    Raised by a signal in the middle of an event loop, it could lose a wake-up, and
    what waits for it would wait for ever.
    """
    done: list[T] = []

    async def keep() -> None:
        done.append(await work)

    async def run() -> None:
        with told_to_end() as told:
            await first_of(keep(), told.get())

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
    if not done:
        raise KeyboardInterrupt
    return done[0]
