"""Standard input and other pipes, read without stopping anything else."""

import asyncio
import os

_READ_BYTES = 64 << 10


async def read_ready(number: int, most: int = _READ_BYTES) -> bytes:
    """The next part of what a file descriptor has; empty at its end. No thread waits
    in a read, which would keep the program from ending. Cancelling it loses nothing.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(number, ready.set)
    except PermissionError:  # a plain file, which never makes anyone wait
        return os.read(number, most)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(number)
    return os.read(number, most)
