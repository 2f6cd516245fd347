"""The benchmark of the live page."""

import json

import msgspec
import pytest
from tests.browser.chromium import needs_chromium

from benchmarks import page, page_browser
from brokerwise.runtime.protocol.fleet import TrafficPage


def test_a_small_fleet_is_watched_and_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = ["--brokers", "3", "--topics", "30", "--seconds", "2.5", "--repeats", "1"]
    page.main(few)
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["brokers"], found["topics"]) == (3, 30)
    assert found["ticks"] >= 2
    assert 0 < found["core_share_unwatched"] < 2
    assert 0 < found["core_share_watched"] < 2
    assert 3 * 100 < found["tick_bytes"] < 5_000
    assert found["topics_bytes"] > 30 * 50


@pytest.mark.long
@needs_chromium
def test_a_browser_shows_a_small_fleet_and_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page_browser.main(["--brokers", "3", "--topics", "30", "--seconds", "2"])
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["core_share"] < 2
    assert 0 < found["click_ms_median"] <= found["click_ms_worst"]


def test_every_topic_has_one_broker_which_says_so() -> None:
    seed, brokers = page.paper_fleet(3, 10)
    assert sorted(topic for broker in brokers for topic in broker.topics) == sorted(
        seed.homes
    )
    for broker in brokers:
        assert {seed.homes[topic] for topic in broker.topics} == {broker.name}
        said = msgspec.json.decode(broker.page, type=TrafficPage)
        assert set(said.topics) == set(broker.topics)
        (load,) = set(said.topics.values())
        assert (load.delivered, load.received_per_second) == (81_000, 12.5)
        assert (load.p50_ms, load.p90_ms) == (1.234, 45.678)
