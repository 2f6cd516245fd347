"""Subscribers and a publisher, beside the test, in a thread of their own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from brokerwise.runtime.client.client import Client
from brokerwise.runtime.fleet.files import read_fleet
from brokerwise.runtime.fleet.operator import Operator


@contextmanager
def crowd(state: Path, users: int) -> Iterator[None]:
    """So many users, each with a topic of its own, to which messages are sent."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    leave = asyncio.Event()
    failed: list[BaseException] = []

    async def gather() -> None:
        fleet = read_fleet(state)
        operator = Operator(fleet)
        async with AsyncExitStack() as stack:
            for number in range(users):
                user = f"u{number}"
                token = await operator.register(user)
                client = Client(fleet.coordinator, user, token)
                await stack.enter_async_context(client)
                await client.subscribe([f"t{number}"])
            token = await operator.register("bob")
            bob = Client(fleet.coordinator, "bob", token)
            await stack.enter_async_context(bob)
            while not leave.is_set():
                for number in range(users):
                    await bob.publish(f"t{number}", "x" * 1000)
                await asyncio.sleep(0.05)
                if not ready.is_set():
                    ready.set()

    def work() -> None:
        try:
            loop.run_until_complete(gather())
        except BaseException as error:
            failed.append(error)
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(30) and not failed, failed
        yield
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave.set)
        thread.join()
    assert not failed, failed
