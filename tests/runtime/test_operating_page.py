"""docs/operating.md names commands, options and metrics that there are."""

import re
from pathlib import Path

import pytest
from tests.runtime.live import LiveFleet, http, page_text
from tests.runtime.protocol_page import rows

from brokerwise.cli.main import run

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
TEXT = PAGE.read_text(encoding="utf-8")
FLEET = (
    *("up", "status", "moves", "subscribe", "publish", "replay"),
    *("token", "drain", "restart", "join"),
)


def usages() -> list[str]:
    """Every way to call a command of a fleet, in tables and examples."""
    quoted = re.findall(r"`(?:brokerwise )?([a-z]+\b[^`]*)`", TEXT)
    shown = re.findall(r"^    (?:\$ )?brokerwise (.*)$", TEXT, re.M)
    calls = [usage.split(" | ")[0] for usage in [*quoted, *shown]]
    return [call for call in calls if call.split()[0] in (*FLEET, "down")]


@pytest.mark.parametrize("usage", sorted(set(usages())))
def test_every_option_that_the_page_shows_is_one_of_its_command(
    usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([usage.split()[0], "--help"]) == 0
    there = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z-]+", usage)) <= there


def test_the_page_shows_every_command_of_a_fleet() -> None:
    assert {usage.split()[0] for usage in usages()} == {*FLEET, "down"}


def test_every_metric_of_the_page_is_there(two_brokers: LiveFleet) -> None:
    url = http(two_brokers.broker("mia", two_brokers.token("mia")))
    texts = page_text(f"{url}/metrics", two_brokers.broker_token) + page_text(
        f"{two_brokers.coordinator}/metrics", two_brokers.operator_token
    )
    there = set(re.findall(r"^# TYPE (\w+)", texts, re.M))
    named = set(re.findall(r"`(brokerwise_\w+)", "".join(r[0] for r in rows(TEXT))))
    assert named
    assert named <= there
