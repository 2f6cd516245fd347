"""Asking the data cluster, and feeding it, against one that only pretends."""

import asyncio
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.client.fake_fleet import run
from tests.runtime.pretend_data_cluster import PretendDataCluster, parts, pretending

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.client import data_cluster
from brokerwise.runtime.client.data_cluster import (
    BATCH_BYTES,
    Batch,
    Batches,
    DataClient,
    DataRefusedError,
    Feed,
    FeedBrokenError,
    FeedResult,
    NoDataClusterError,
    WrongDataError,
)
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.protocol.data import FeedAnswer, Rejection
from brokerwise.runtime.protocol.limits import MAX_RECORD_BYTES


def test_records_are_fed_as_lines_under_a_batch_id_and_a_token() -> None:
    async def work() -> None:
        async with pretending(cluster) as client:
            fed = await client.feed("reports", [{"a": 1}, 5], batch="x/1 &2")
            assert fed == FeedAnswer(1, 1, False, (Rejection(2, "no object"),))

    cluster = PretendDataCluster()
    run(work())
    (request,) = cluster.requests
    assert (request.path, request.query) == ("/feed/reports", {"batch": "x/1 &2"})
    assert request.token() == "a token"
    assert cluster.records["reports"] == [{"a": 1}]


def test_a_batch_with_an_id_is_tried_again_and_fed_once() -> None:
    told: list[str] = []

    async def work() -> FeedAnswer:
        async with pretending(cluster) as client:
            return await client.feed(
                "reports",
                b'{"a": 1}\n',
                "one",
                on_retry=lambda error: told.append(error.message),
            )

    cluster = PretendDataCluster()
    cluster.faults = ["lost", 503, 408]
    assert run(work()) == FeedAnswer(1, 0, True)
    assert told == ["lost", "told to say 503", "told to say 408"]
    assert cluster.records["reports"] == [{"a": 1}]


def test_a_batch_without_an_id_is_tried_once() -> None:
    async def work() -> None:
        async with pretending(cluster) as client:
            await client.feed("reports", b'{"a": 1}\n')

    cluster = PretendDataCluster()
    cluster.faults = ["lost"]
    with pytest.raises(DataRefusedError, match="lost"):
        run(work())
    assert len(cluster.requests) == 1


def test_patience_ends() -> None:
    async def work() -> None:
        client = DataClient("http://127.0.0.1:9", "t")  # nobody is there
        await client.feed("reports", b"{}\n", "one", patience=0.3)

    began = time.monotonic()
    with pytest.raises(UnreachableError):
        run(work())
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, InputError), (409, InputError), (422, InputError), (403, None), (500, None)],
)
def test_a_refusal_says_all_that_it_was_told(
    status: int, kind: type[Exception] | None
) -> None:
    async def work() -> None:
        async with pretending(cluster) as client:
            await client.channels()

    cluster = PretendDataCluster()
    cluster.faults = [status]
    with pytest.raises(DataRefusedError) as caught:
        run(work())
    error = caught.value
    assert (error.status, error.message) == (status, f"told to say {status}")
    assert error.details == ("and more", "  ^")
    assert isinstance(error, InputError) == (kind is InputError)
    assert isinstance(error, WrongDataError) == (kind is InputError)


def test_a_fleet_without_a_data_cluster_says_how_to_have_one() -> None:
    fleet = FleetFile("http://127.0.0.1:1", 7, 1, "ab", "op", "br")
    with pytest.raises(NoDataClusterError) as caught:
        DataClient.of(fleet)
    assert "brokerwise up --data-cluster" in caught.value.hint


async def fed(
    cluster: PretendDataCluster,
    *content: bytes | None,
    identity: str = "file",
    rate: float | None = None,
    dataset: str = "reports",
) -> FeedResult:
    async with pretending(cluster) as client:
        return await Feed(client, dataset, identity, rate).run(parts(*content))


def test_a_stream_is_fed_in_order_and_lines_keep_their_numbers() -> None:
    large = BATCH_BYTES // 1_000_000 + 1
    content = [
        b'{"n": 1}\nnot one\n',
        b"{" + b" " * MAX_RECORD_BYTES + b"}\n",
        *(b'{"n": "%s"}\n' % (b"x" * 1_000_000) for _ in range(large)),
        b'also not one\n{"n": 2}',
    ]
    cluster = PretendDataCluster()
    result = run(fed(cluster, *content))
    assert len(cluster.requests) == 2
    assert cluster.records["reports"][0] == {"n": 1}
    assert cluster.records["reports"][-1] == {"n": 2}
    assert (result.records, result.rejected, result.too_long) == (large + 2, 2, 1)
    assert [(r.line, r.reason[:11]) for r in result.reasons] == [
        (2, "no object"),
        (3, "longer than"),
        (4 + large, "no object"),
    ]


def test_the_same_stream_is_not_fed_twice_but_another_is() -> None:
    cluster = PretendDataCluster()
    content = (b'{"n": 1}\n{"n": 2}\n',)
    assert run(fed(cluster, *content)) == FeedResult(2)
    again = run(fed(cluster, *content))
    assert (again.records, again.repeated) == (2, 2)
    assert run(fed(cluster, *content, identity="other")) == FeedResult(2)
    assert len(cluster.records["reports"]) == 4


def test_what_a_pipe_has_is_sent_when_it_pauses() -> None:
    cluster = PretendDataCluster()
    result = run(fed(cluster, b'{"n": 1}\n{"n":', None, b" 2}\n", None, None))
    assert result.records == 2
    assert [request.body for request in cluster.requests] == [
        b'{"n": 1}\n',
        b'{"n": 2}\n',
    ]


def test_a_rate_spreads_records_over_time() -> None:
    async def work() -> float:
        began = asyncio.get_running_loop().time()
        await fed(cluster, b'{"n": 1}\n' * 61, rate=30.0)
        return asyncio.get_running_loop().time() - began

    cluster = PretendDataCluster()
    assert run(work()) >= 2.0
    bodies = [request.body.count(b"\n") for request in cluster.requests]
    assert bodies == [30, 30, 1]


def test_a_feed_that_breaks_says_how_far_it_came() -> None:
    cluster = PretendDataCluster()

    async def work() -> None:
        async with pretending(cluster) as client:
            feed = Feed(
                client, "reports", "f", on_batch=lambda r: cluster.records.clear()
            )
            await feed.run(parts(b"{}\n{}\n", None, b"{}\n", None))

    with pytest.raises(FeedBrokenError) as caught:
        run(work())
    assert caught.value.message == (
        "2 records are in; from line 3 on it failed: there is no dataset 'reports'"
    )
    with pytest.raises(BrokerwiseError, match=r"^there is no dataset 'none'"):
        run(fed(PretendDataCluster(), b"{}\n", dataset="none"))


MOST_LINE = 20  # bytes of a record, in these tests


def cut(content: bytes, sizes: list[int], **limits: int | None) -> list[Batch]:
    """The batches of a stream that comes in parts of these sizes, again and again, if
    a record has at most MOST_LINE bytes."""
    batches = Batches(**limits)  # type: ignore[arg-type]
    found, start = [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_cluster, "MAX_RECORD_BYTES", MOST_LINE)
        for size in itertools.cycle(sizes):
            if start >= len(content):
                break
            found += list(batches.add(content[start : start + size]))
            start += size
        return [*found, *batches.end()]


lines = st.lists(
    st.one_of(
        st.binary(max_size=MOST_LINE + 5).filter(lambda line: b"\n" not in line),
        st.just(b""),
        st.just(b"x" * (MOST_LINE * 4)),
    ),
    max_size=30,
)
limits = st.fixed_dictionaries(
    {
        "most_bytes": st.integers(MOST_LINE + 1, 100),
        "most_records": st.none() | st.integers(1, 5),
    }
)


@given(lines, st.booleans(), st.lists(st.integers(1, 50), min_size=1), limits)
def test_every_line_is_in_one_batch_under_its_number(
    given_lines: list[bytes],
    ends: bool,
    sizes: list[int],
    limits: dict[str, int | None],
) -> None:
    content = b"\n".join(given_lines) + b"\n" * (ends and bool(given_lines))
    expected = content.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    batches = cut(content, sizes, **limits)

    found: dict[int, bytes] = {}
    for batch in batches:
        body = batch.body.split(b"\n")
        assert body.pop() == b""
        for number, line in enumerate(body, batch.first_line):
            assert number not in found
            found[number] = line
    too_long = {n for n, line in enumerate(expected, 1) if len(line) > MOST_LINE}
    assert {n for batch in batches for n in batch.too_long} == too_long
    assert found == {
        number: b"" if number in too_long else line
        for number, line in enumerate(expected, 1)
    }
    for batch in batches:
        assert len(batch.body) <= (limits["most_bytes"] or 0)
        assert batch.records <= (limits["most_records"] or batch.records)
        stated = [line for line in batch.body.split(b"\n") if line.strip()]
        assert batch.records == len(stated)


@given(lines, st.lists(st.integers(1, 50), min_size=1), limits)
def test_the_cuts_do_not_depend_on_how_the_stream_comes_and_cover_it(
    given_lines: list[bytes], sizes: list[int], limits: dict[str, int | None]
) -> None:
    content = b"\n".join(given_lines)
    batches = cut(content, sizes, **limits)
    assert batches == cut(content, [len(content) or 1], **limits)
    offset = 0
    for batch in batches:
        assert batch.offset == offset
        offset += batch.length
    assert offset == len(content)


def test_what_has_come_can_be_taken_before_a_batch_is_full() -> None:
    batches = Batches()
    assert batches.rest() is None
    assert list(batches.add(b"a\nb\nhal")) == []
    assert batches.rest() == Batch(b"a\nb\n", 1, 0, 4, 2)
    assert batches.rest() is None
    assert list(batches.add(b"f\n")) == []
    assert list(batches.end()) == [Batch(b"half\n", 3, 4, 5, 1)]


def test_a_line_without_end_is_not_held_in_memory() -> None:
    batches = Batches()
    for _ in range(1_100):
        assert list(batches.add(b"x" * 1_000)) == []
    assert batches._held == []  # noqa: SLF001
    (batch,) = batches.end()
    assert (batch.too_long, batch.records, batch.length) == ((1,), 0, 1_100_000)
