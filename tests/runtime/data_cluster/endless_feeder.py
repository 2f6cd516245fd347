"""A process that feeds batches without end, four at once, until it is killed.

endless_feeder.py DIR FIRST LAST [NUMBER...]: batch n has records 10 n to 10 n + 2, one
line that is bad, and the location of user n % 7. Feeds those of the numbers given, then
FIRST to LAST; prints a number after its batch has been answered.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.runtime.data_cluster.feeds import Fixture, at, feeding, reports

AT_ONCE = 4


def batch(number: int) -> tuple[bytes, bytes]:
    first = 10 * number
    bad = b"bad %d\n" % number
    return reports(first, first + 1, first + 2) + bad, at(f"u{number % 7}", number)


async def feed_all(directory: Path, numbers: Iterator[int]) -> None:
    async with feeding(directory, roll_seconds=0.005) as f:
        await asyncio.gather(*(_feed_in_turn(f, numbers) for _ in range(AT_ONCE)))


async def _feed_in_turn(f: Fixture, numbers: Iterator[int]) -> None:
    for number in numbers:
        body, location = batch(number)
        await asyncio.gather(
            f.feeder.feed("reports", body, f"{number}"),
            f.feeder.feed("locations", location, f"{number}"),
        )
        os.write(1, f"{number}\n".encode())


def main(directory: str, first: str, last: str, *again: str) -> None:
    numbers = [*map(int, again), *range(int(first), int(last) + 1)]
    asyncio.run(feed_all(Path(directory), iter(numbers)))


if __name__ == "__main__":
    main(*sys.argv[1:])
