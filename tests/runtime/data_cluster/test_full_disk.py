"""A feed that the disk has no room for is refused whole, and the next one is fine."""

import asyncio
import errno
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from tests.runtime.data_cluster.feeds import (
    at,
    contents,
    feeding,
    files,
    lines,
    named_files,
    reports,
    run,
)

from brokerwise.runtime.data_cluster import feeding as feeding_module
from brokerwise.runtime.data_cluster.datasets import describe
from brokerwise.runtime.data_cluster.fed_batches import Fed
from brokerwise.runtime.data_cluster.store import counter
from brokerwise.runtime.net.refusals import UnavailableError
from brokerwise.runtime.process.state_file import Sql

GOOD, BAD = 3_000, 500


def big_body() -> bytes:
    """Too big for the limits below, both its records and what is kept aside of it."""
    random = Random(7)
    good = lines({"id": n, "type": random.randbytes(40).hex()} for n in range(GOOD))
    return good + (b"x" * 900 + b"\n") * BAD


@contextmanager
def small_files(_: Sql) -> Iterator[None]:
    """No file of this process may grow beyond 64 kB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_database(sql: Sql) -> Iterator[None]:
    (pages,) = sql.execute("PRAGMA page_count").fetchone()
    sql.execute(f"PRAGMA max_page_count = {pages + 10}")
    try:
        yield
    finally:
        sql.execute("PRAGMA max_page_count = 1000000")


def failing_at(name: str, call: int) -> Callable[[Sql], AbstractContextManager[object]]:
    """The n-th call of a function of `os` fails, counted from now and from each
    failure on."""
    real, left = getattr(os, name), [call]

    def or_full(*arguments: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            left[0] = call
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    return lambda _: patch.object(os, name, or_full)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(small_files, id="no file may grow"),
        pytest.param(small_database, id="the database may not grow"),
        pytest.param(failing_at("fsync", 1), id="first file's fsync"),
        pytest.param(failing_at("fsync", 2), id="second file's fsync"),
        pytest.param(failing_at("fsync", 3), id="the directory's fsync"),
        pytest.param(failing_at("replace", 1), id="first rename"),
        pytest.param(failing_at("replace", 2), id="second rename"),
    ],
)
def test_a_full_disk_refuses_the_feed_and_stores_nothing_of_it(
    quick_path: Path, fault: Callable[[Sql], AbstractContextManager[object]]
) -> None:
    body = big_body()

    async def feed() -> None:
        async with feeding(quick_path) as f:
            await f.feeder.feed("reports", reports(-1))
            with fault(f.store.sql):
                for _ in range(2):
                    errors = await asyncio.gather(
                        f.feeder.feed("reports", body, "b"),
                        f.feeder.feed("locations", at("u", 1.0), "b"),
                        return_exceptions=True,
                    )
                    for error in errors:
                        assert isinstance(error, UnavailableError), error
                        assert "nothing of it was taken" in error.message
            assert [each["id"] for each in contents(f.store, "reports")] == [-1]
            assert files(f.store) == named_files(f.store)
            assert counter(f.store.sql, "segment") == 1
            assert describe(f.store.sql, "reports").rejected == 0
            assert f.keyed.table("locations").num_rows == 0
            fed = await f.feeder.feed("reports", body, "b")
            assert (fed.rows, fed.rejected, fed.repeated) == (GOOD, BAD, False)
            assert await f.feeder.feed("locations", at("u", 1.0), "b") == Fed(1, 0)
        async with feeding(quick_path) as f:
            assert len(contents(f.store, "reports")) == GOOD + 1
            assert f.keyed.table("locations").num_rows == 1

    run(feed())


def test_files_whose_commit_is_in_doubt_stay_until_the_next_start(
    quick_path: Path,
) -> None:
    """The rows may turn out to be stored, when the journal is read again."""

    async def feed() -> None:
        async with feeding(quick_path) as f:
            doubt = sqlite3.OperationalError("disk I/O error")
            with (
                patch.object(feeding_module, "commit_roll", side_effect=doubt),
                pytest.raises(UnavailableError, match="disk I/O error"),
            ):
                await f.feeder.feed("reports", reports(1), "b")
            assert len(files(f.store)) == 1
            assert await f.feeder.feed("reports", reports(1), "b") == Fed(1, 0)
            assert len(files(f.store)) == 2
        async with feeding(quick_path) as f:
            assert files(f.store) == named_files(f.store)
            assert [each["id"] for each in contents(f.store, "reports")] == [1]

    run(feed())
