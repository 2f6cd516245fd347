"""One broker from near by."""

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.coordinator.fakes import broker, plain_seed, run, running
from tests.runtime.coordinator.seeds import COLOCATED

from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.protocol.control import Address


def test_a_broker_from_near_by_has_its_topics_and_sessions(tmp_path: Path) -> None:
    async def work() -> None:
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

    run(work())


def test_a_broker_that_is_not_there_has_a_page_that_says_so(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1)) as fleet:
            found = await fleet.done("/watch/broker/b0")
            assert found["problem"] == "broker 'b0' is not there to be asked"
            assert (found["state"], found["topics"]) == ("lost", [])
            assert (await fleet.call("/watch/broker/b9"))[0] == 404
            async with broker("odd/name", fleet) as odd:
                shown = await fleet.done("/watch/broker/odd%2Fname")
                assert (shown["name"], shown["url"]) == ("odd/name", odd.url)

    run(work())


def test_one_that_does_not_answer_those_who_look_is_not_taken_for_silent() -> None:
    async def nobody(url: str, body: object, kind: type[Any], **_: object) -> Any:
        raise UnreachableError(url, "nobody answers")

    async def work() -> None:
        telling, b0 = BrokerClient(nobody, "a token", None), Address("b0", "ws://h:1")
        for asking in (telling.load, telling.sessions):
            with pytest.raises(UnreachableError, match="http://h:1"):
                await asking(b0)
        assert not telling.silent
        with pytest.raises(UnreachableError):
            await telling.balance(b0)
        assert telling.silent == {"b0"}

    run(work())
