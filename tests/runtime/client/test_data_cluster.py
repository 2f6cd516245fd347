"""Asking the data cluster, and feeding it, against one that only pretends."""

import asyncio
import time

import pytest
from tests.runtime.fleet.fakes import run
from tests.runtime.pretend_data_cluster import PretendDataCluster, parts, pretending

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.client.data_cluster import (
    BATCH_BYTES,
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
from brokerwise.runtime.protocol.data import Fed, Reason
from brokerwise.runtime.protocol.limits import MAX_RECORD_BYTES


def test_records_are_fed_as_lines_under_a_batch_id_and_a_token() -> None:
    async def work() -> None:
        async with pretending(cluster) as client:
            fed = await client.feed("reports", [{"a": 1}, 5], batch="x/1 &2")
            assert fed == Fed(1, 1, False, (Reason(2, "no object"),))

    cluster = PretendDataCluster()
    run(work())
    (request,) = cluster.requests
    assert (request.path, request.query) == ("/feed/reports", {"batch": "x/1 &2"})
    assert request.token() == "a token"
    assert cluster.records["reports"] == [{"a": 1}]


def test_a_batch_with_an_id_is_tried_again_and_fed_once() -> None:
    told: list[str] = []

    async def work() -> Fed:
        async with pretending(cluster) as client:
            return await client.feed(
                "reports",
                b'{"a": 1}\n',
                "one",
                on_retry=lambda error: told.append(error.message),
            )

    cluster = PretendDataCluster()
    cluster.faults = ["lost", 503, 408]
    assert run(work()) == Fed(1, 0, True)
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
            feed = Feed(client, "reports", "f", told=lambda r: cluster.records.clear())
            await feed.run(parts(b"{}\n{}\n", None, b"{}\n", None))

    with pytest.raises(FeedBrokenError) as caught:
        run(work())
    assert caught.value.message == (
        "2 records are in; from line 3 on it failed: there is no dataset 'reports'"
    )
    with pytest.raises(BrokerwiseError, match=r"^there is no dataset 'none'"):
        run(fed(PretendDataCluster(), b"{}\n", dataset="none"))
