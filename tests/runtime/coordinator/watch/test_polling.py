"""What brokers and the data cluster are asked for, for operators who watch."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runtime.coordinator.fakes import broker, plain_seed, run, running
from tests.runtime.coordinator.seeds import COLOCATED

from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.watch.polling import ASKED_ALONE, ask_data
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.protocol.data import (
    ChannelStatus,
    DatasetStatus,
    RejectedRecord,
    Run,
    SegmentSetAside,
)
from brokerwise.runtime.protocol.fleet import Address
from brokerwise.runtime.protocol.watch import encode_line


async def test_a_broker_from_near_by_has_its_topics_and_sessions(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, COLOCATED) as fleet, broker("b0", fleet) as b0:
        b0.loads = {
            "art": {"delivered": 0, "received_per_second": 9.0},
            "news": {"delivered": 1, "received_per_second": 1.0, "p90_ms": 30.0},
        }
        b0.wants = {"zoe": {"art"}, "ann": {"news", "art"}}
        await b0.beat(fleet)
        found = await fleet.done("/watch/broker/b0")
        assert [topic["topic"] for topic in found["topics"]] == ["art", "news"]
        assert found["topics"][1] == {
            **{"topic": "news", "received_per_second": 1.0, "p50_ms": 0.0},
            **{"p90_ms": 30.0, "target_ms": 250.0, "met": True},
        }
        assert found["session_list"] == [
            {"user": "ann", "topics": 2},
            {"user": "zoe", "topics": 1},
        ]
        assert (found["topic_count"], found["session_count"]) == (2, 2)
        assert (found["url"], found["epoch"]) == (b0.url, b0.epoch)
        assert (found["load"], found["problem"]) == (1.5, "")


async def test_a_broker_that_is_not_there_has_a_page_that_says_so(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, plain_seed(1)) as fleet:
        found = await fleet.done("/watch/broker/b0")
        assert found["problem"] == "broker 'b0' is not there to be asked"
        assert (found["state"], found["topics"]) == ("lost", [])
        assert (await fleet.call("/watch/broker/b9"))[0] == 404
        async with broker("odd/name", fleet) as odd:
            shown = await fleet.done("/watch/broker/odd%2Fname")
            assert (shown["name"], shown["url"]) == ("odd/name", odd.url)


async def test_one_that_does_not_answer_those_who_look_is_not_taken_for_silent() -> (
    None
):
    async def nobody(url: str, body: object, kind: type[Any], **_: object) -> Any:
        raise UnreachableError(url, "nobody answers")

    telling, b0 = BrokerClient(nobody, "a token", None), Address("b0", "ws://h:1")
    for asking in (telling.load, telling.sessions):
        with pytest.raises(UnreachableError, match="http://h:1"):
            await asking(b0)
    assert not telling.silent
    with pytest.raises(UnreachableError):
        await telling.balance(b0)
    assert telling.silent == {"b0"}


DATASET = DatasetStatus("reports", "append", (), "", 1.0, 70, 2, 900, 80, 3, 40.0)
CHANNEL = ChannelStatus("near", "SELECT 1", (), 10.0, (), 1.0, (), 4, 9, 12, 0, 2)
ASIDE = RejectedRecord("", 2, "{", "not JSON", 39.0)
RUN = Run(12, 50.0, 0.4567, 1, 2, 4, 33, 100)


class PretendData:
    """A data cluster in this process, as `DataClient` shows it."""

    def __init__(self, *channels: ChannelStatus, problem: str = "") -> None:
        self._channels, self._problem = channels, problem
        self.asked: list[str] = []
        self.dropped: set[str] = set()

    async def datasets(self) -> tuple[DatasetStatus, ...]:
        if self._problem:
            raise UnreachableError("http://h", self._problem)
        return (
            DATASET,
            msgspec.structs.replace(DATASET, name="clean", rejected=0, last_fed=None),
        )

    async def dataset(self, name: str) -> DatasetStatus:
        self.asked.append(name)
        return msgspec.structs.replace(DATASET, last_rejected=(ASIDE,))

    async def channels(self) -> tuple[ChannelStatus, ...]:
        return self._channels

    async def channel(self, name: str) -> ChannelStatus:
        self.asked.append(name)
        if name in self.dropped:
            raise UnreachableError("http://h", "dropped")
        found = next(each for each in self._channels if each.name == name)
        return msgspec.structs.replace(found, last_runs=(RUN,) if found.runs else ())


def told(source: PretendData) -> dict[str, Any]:
    line = run(ask_data(source, lambda: 7.0))
    found: dict[str, Any] = json.loads(encode_line(line))
    return found


def test_channels_come_with_their_last_run_and_what_went_wrong() -> None:
    ended = msgspec.structs.replace(
        CHANNEL, name="off", suspended="no such column", set_aside_count=2
    )
    found = told(
        PretendData(
            CHANNEL, ended, msgspec.structs.replace(CHANNEL, name="new", runs=0)
        )
    )
    near, off, new = found["channels"]
    assert near == {
        "name": "near",
        "every_seconds": 10.0,
        "subscriptions": 4,
        "last_run": 50.0,
        "took_ms": 456.7,
        "results": 33,
        "error": "",
        "failures": 0,
    }
    assert (off["error"], off["failures"]) == ("no such column", 2)
    assert (new["last_run"], new["took_ms"], new["results"]) == (None, None, None)
    assert found["problem"] == ""


def test_why_a_channel_has_set_records_aside_is_told_while_it_runs() -> None:
    aside = (
        SegmentSetAside(9, "reports", "no such number", 30.0),
        SegmentSetAside(4, "reports", "an older reason", 20.0),
    )
    failing = msgspec.structs.replace(CHANNEL, set_aside_count=2, set_aside=aside)
    (channel,) = told(PretendData(failing))["channels"]
    assert (channel["error"], channel["failures"]) == ("no such number", 2)


def test_datasets_are_as_the_data_cluster_counts_them_with_what_was_wrong() -> None:
    source = PretendData()
    dataset, clean = told(source)["datasets"]
    counts = {"records": 70, "fed": 80, "errors": 3}
    told_of = {"last_fed": 40.0, "error": "not JSON"}
    assert dataset == {"name": "reports", "kind": "append", **counts, **told_of}
    assert (clean["last_fed"], clean["error"]) == (None, "")
    assert source.asked == ["reports"]


def test_why_it_cannot_be_asked_is_told() -> None:
    found = told(PretendData(CHANNEL, problem="it hung up"))
    assert "it hung up" in found["problem"]
    assert found["channels"] == found["datasets"] == []


def test_of_many_channels_some_are_asked_for_more_and_all_are_shown() -> None:
    many = [
        msgspec.structs.replace(CHANNEL, name=f"c{n:02}")
        for n in range(ASKED_ALONE + 5)
    ]
    source = PretendData(*many)
    source.dropped = {"c03"}
    found = told(source)["channels"]
    asked = ["reports", *(channel.name for channel in many[:ASKED_ALONE])]
    assert source.asked == asked
    assert [channel["name"] for channel in found] == [c.name for c in many]
    without = [channel["name"] for channel in found if channel["last_run"] is None]
    assert without == ["c03", *(c.name for c in many[ASKED_ALONE:])]
