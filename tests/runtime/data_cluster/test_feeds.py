"""Feeds become segments, are acknowledged on the disk, and are fed once; one that the
disk has no room for is refused whole, and the next one is fine."""

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
    numbers,
    reports,
)

from brokerwise.model.errors import InputError
from brokerwise.runtime.data_cluster import feeds
from brokerwise.runtime.data_cluster.datasets import (
    create_dataset,
    drop_dataset,
    find_dataset,
)
from brokerwise.runtime.data_cluster.status import dataset_status
from brokerwise.runtime.data_cluster.store import counter
from brokerwise.runtime.net.errors import NotFoundError, UnavailableError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import FeedAnswer, Rejection
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES


def ids(records: list[dict[str, object]]) -> list[object]:
    return [record["id"] for record in records]


async def test_a_feed_is_there_when_it_is_acknowledged(quick_path: Path) -> None:
    async with feeding(quick_path) as f:
        assert await f.feeder.feed("reports", reports(1, 2)) == FeedAnswer(2, 0)
        assert contents(f.store, "reports") == [
            {"id": 1, "type": "fire"},
            {"id": 2, "type": "fire"},
        ]
        assert numbers(f.store) == [1]
        assert await f.feeder.feed("reports", reports(3)) == FeedAnswer(1, 0)
        assert ids(contents(f.store, "reports")) == [1, 2, 3]
        assert numbers(f.store) == [1, 2]


async def test_what_is_fed_together_is_one_segment_a_dataset_in_the_order_of_the_calls(
    quick_path: Path,
) -> None:
    async with feeding(quick_path, roll_seconds=0.05) as f:
        await asyncio.gather(
            *(f.feeder.feed("reports", reports(n)) for n in range(20)),
            f.feeder.feed("locations", at("ann", 1.0)),
            f.feeder.feed("reports", reports(20)),
        )
        assert ids(contents(f.store, "reports")) == list(range(21))
        assert numbers(f.store) == [1, 2]
        assert dataset_status(f.store.sql, "reports").segments == 1
        assert f.keyed.table("locations").to_pylist() == [{"user": "ann", "x": 1.0}]


async def test_enough_bytes_are_rolled_at_once(quick_path: Path) -> None:
    async with feeding(quick_path, roll_seconds=3600, roll_bytes=100) as f:
        both = (f.feeder.feed("reports", reports(n, n, n)) for n in range(2))
        assert await asyncio.gather(*both) == [FeedAnswer(3, 0), FeedAnswer(3, 0)]


async def test_bad_records_are_kept_aside_with_reasons_and_the_others_fed(
    quick_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with feeding(quick_path) as f:
        body = b"oops\n" + reports(1) + b'{"id": "x", "type": "fire"}\n'
        fed = await f.feeder.feed("reports", body, "b1")
        assert (fed.rows, fed.rejected, fed.repeated) == (1, 2, False)
        assert [reason.line for reason in fed.reasons] == [1, 3]
        shown = dataset_status(f.store.sql, "reports")
        assert (shown.fed, shown.rejected, shown.rows) == (1, 2, 1)
        aside = shown.last_rejected[0]
        assert (aside.batch, aside.line) == ("b1", 3)
        assert aside.text == '{"id": "x", "type": "fire"}'
        assert "column 'id': found \"x\"" in aside.reason
    said = "dataset 'reports': batch 'b1': 2 records rejected, 1 taken; line 1: "
    assert said in caplog.text


async def test_an_answer_has_the_first_ten_reasons_and_counts_all(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        fed = await f.feeder.feed("reports", b"x\n" * 25, "b")
        assert (fed.rows, fed.rejected) == (0, 25)
        assert [reason.line for reason in fed.reasons] == list(range(1, 11))
        again = await f.feeder.feed("reports", b"x\n" * 25, "b")
        assert again == FeedAnswer(0, 25, True, fed.reasons)
        assert numbers(f.store) == []  # no segment without records
        assert files(f.store) == set()


@pytest.mark.parametrize("body", [b"", b"\n \r\n\t\n"])
async def test_an_empty_body_is_nothing_and_makes_no_segment(
    quick_path: Path, body: bytes
) -> None:
    async with feeding(quick_path) as f:
        assert await f.feeder.feed("reports", body) == FeedAnswer(0, 0)
        assert await f.feeder.feed("reports", body, "b") == FeedAnswer(0, 0)
        assert await f.feeder.feed("reports", body, "b") == FeedAnswer(0, 0, True)
        assert counter(f.store.sql, "segment") == 0
        assert files(f.store) == set()


async def test_a_batch_sent_twice_is_fed_once_also_after_a_restart(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        first = await f.feeder.feed("reports", reports(1) + b"oops", "b")
        assert first.reasons == (Rejection(2, first.reasons[0].reason),)
        again = await f.feeder.feed("reports", reports(1) + b"oops", "b")
        assert again == FeedAnswer(1, 1, True, first.reasons)
        # Another dataset has batch ids of its own; no id is no batch.
        assert not (await f.feeder.feed("locations", at("u", 1), "b")).repeated
        assert await f.feeder.feed("reports", reports(2)) == FeedAnswer(1, 0)
        assert await f.feeder.feed("reports", reports(2)) == FeedAnswer(1, 0)
    async with feeding(quick_path) as f:
        assert await f.feeder.feed("reports", reports(1), "b") == again
        assert ids(contents(f.store, "reports")) == [1, 2, 2]
        assert numbers(f.store) == [1, 2, 3, 4]  # as before the restart


async def test_a_batch_sent_many_times_at_once_is_fed_once(quick_path: Path) -> None:
    async with feeding(quick_path, roll_seconds=0.02) as f:
        answers = await asyncio.gather(
            *(f.feeder.feed("reports", reports(1), "b") for _ in range(5))
        )
        assert [answer.repeated for answer in answers] == [False] + [True] * 4
        assert ids(contents(f.store, "reports")) == [1]


async def test_a_batch_whose_sender_went_away_is_answered_to_the_next(
    quick_path: Path,
) -> None:
    async with feeding(quick_path, roll_seconds=0.05) as f:
        first = asyncio.create_task(f.feeder.feed("reports", reports(1), "b"))
        second = asyncio.create_task(f.feeder.feed("reports", reports(1), "b"))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == FeedAnswer(1, 0, True)
        assert ids(contents(f.store, "reports")) == [1]


async def test_an_unknown_dataset_and_an_overlong_batch_id_are_refused(
    quick_path: Path,
) -> None:
    async with feeding(quick_path) as f:
        with pytest.raises(NotFoundError, match="no dataset 'nothing'"):
            await f.feeder.feed("nothing", reports(1))
        with pytest.raises(InputError, match="257 characters"):
            await f.feeder.feed("reports", reports(1), "b" * (MAX_NAME_BYTES + 1))


async def test_a_feed_that_cannot_be_used_at_all_is_refused_alone(
    quick_path: Path,
) -> None:
    async with feeding(quick_path, roll_seconds=0.05) as f:
        answers = await asyncio.gather(
            f.feeder.feed("reports", reports(1)),
            f.feeder.feed("reports", b"x\n" * 100_001, "bad"),
            f.feeder.feed("reports", reports(2)),
            return_exceptions=True,
        )
        assert answers[0] == answers[2] == FeedAnswer(1, 0)
        assert isinstance(answers[1], InputError)
        assert "more than 100,000 records" in str(answers[1])
        assert ids(contents(f.store, "reports")) == [1, 2]
        assert dataset_status(f.store.sql, "reports").rejected == 0


async def test_a_dataset_dropped_while_it_is_fed_is_not_found_and_leaves_no_file(
    quick_path: Path,
) -> None:
    async with feeding(quick_path, roll_seconds=0.05) as f:
        old = asyncio.create_task(f.feeder.feed("reports", reports(1), "b"))
        other = asyncio.create_task(f.feeder.feed("locations", at("u", 1)))
        await asyncio.sleep(0)
        with f.store.change() as sql:
            dataset = find_dataset(sql, "reports")
            gone = drop_dataset(sql, "reports")
            create_dataset(sql, dataset, 2.0)
        f.store.segments.remove(gone)
        with pytest.raises(NotFoundError):
            await old
        assert await other == FeedAnswer(1, 0)
        assert contents(f.store, "reports") == []
        assert files(f.store) == named_files(f.store)
        assert await f.feeder.feed("reports", reports(2), "b") == FeedAnswer(1, 0)


async def test_feeds_that_wait_are_bounded(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MAX_WAITING_BYTES", 100)

    async with feeding(quick_path, roll_seconds=0.05) as f:
        first = asyncio.create_task(f.feeder.feed("reports", reports(1, 2, 3)))
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="bytes of feeds wait"):
            await f.feeder.feed("reports", reports(4))
        assert await first == FeedAnswer(3, 0)
        assert await f.feeder.feed("reports", reports(4)) == FeedAnswer(1, 0)
        # One that is too long by itself is taken when nothing else waits.
        assert (await f.feeder.feed("reports", reports(*range(9)))).rows == 9


async def test_feeds_under_way_when_it_ends_are_refused_and_not_stored(
    quick_path: Path,
) -> None:
    async with feeding(quick_path, roll_seconds=3600) as f:
        waiting = [
            asyncio.create_task(f.feeder.feed("reports", reports(n), batch))
            for n, batch in enumerate(["", "b"])
        ]
        await asyncio.sleep(0)
        f.running.cancel()
        for task in waiting:
            with pytest.raises(UnavailableError, match="is ending"):
                await task
        with pytest.raises(UnavailableError, match="is ending"):
            await f.feeder.feed("reports", reports(2))
        assert contents(f.store, "reports") == []


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
async def test_a_full_disk_refuses_the_feed_and_stores_nothing_of_it(
    quick_path: Path, fault: Callable[[Sql], AbstractContextManager[object]]
) -> None:
    body = big_body()

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
        assert dataset_status(f.store.sql, "reports").rejected == 0
        assert f.keyed.table("locations").num_rows == 0
        fed = await f.feeder.feed("reports", body, "b")
        assert (fed.rows, fed.rejected, fed.repeated) == (GOOD, BAD, False)
        assert await f.feeder.feed("locations", at("u", 1.0), "b") == FeedAnswer(1, 0)
    async with feeding(quick_path) as f:
        assert len(contents(f.store, "reports")) == GOOD + 1
        assert f.keyed.table("locations").num_rows == 1


async def test_files_whose_commit_is_in_doubt_stay_until_the_next_start(
    quick_path: Path,
) -> None:
    """The rows may turn out to be stored, when the journal is read again."""

    async with feeding(quick_path) as f:
        doubt = sqlite3.OperationalError("disk I/O error")
        with (
            patch.object(feeds, "commit_roll", side_effect=doubt),
            pytest.raises(UnavailableError, match="disk I/O error"),
        ):
            await f.feeder.feed("reports", reports(1), "b")
        assert len(files(f.store)) == 1
        assert await f.feeder.feed("reports", reports(1), "b") == FeedAnswer(1, 0)
        assert len(files(f.store)) == 2
    async with feeding(quick_path) as f:
        assert files(f.store) == named_files(f.store)
        assert [each["id"] for each in contents(f.store, "reports")] == [1]
