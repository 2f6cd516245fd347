"""`brokerwise view`."""

import json
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.processes import BROKERWISE, Process

from brokerwise.cli import view as command
from brokerwise.cli.main import run


def test_it_prints_the_address_of_a_page_and_is_gone_after_ctrl_c(
    two_topics: str, in_tmp_path: Path
) -> None:
    assert run(["fill", two_topics, "--brokers", "1x30", "--out", "p"]) == 0
    with Process([*BROKERWISE, "view", "p", "--json"]) as process:
        said = json.loads(process.line_with('"url"'))
        assert (said["kind"], said["name"], said["audit"]["ok"]) == ("fill", "p", True)
        address, _, token = said["url"].partition("#token=")
        assert address.startswith("http://127.0.0.1:")
        with urlopen(address, timeout=60) as page:
            assert b"plan.js" in page.read()
        asked = Request(f"{address}plan", headers={"Authorization": f"Bearer {token}"})
        with urlopen(asked, timeout=60) as plan:
            assert json.loads(plan.read())["kind"] == "fill"
        process.interrupt()
        assert process.wait(60) == 130


def test_a_directory_that_is_no_plan_is_an_error(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", two_topics]) == 2
    assert capsys.readouterr().err == (
        "error: w is not a plan directory: it has no plan.json\n"
        "Make one: brokerwise provision, fill, colocate or overlay.\n"
    )


def test_a_browser_is_opened_only_where_there_is_a_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not command._has_screen()  # noqa: SLF001
    monkeypatch.setenv("DISPLAY", ":0")
    assert command._has_screen()  # noqa: SLF001


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", "--help"]) == 0
    assert "brokerwise view out/plan" in capsys.readouterr().out
