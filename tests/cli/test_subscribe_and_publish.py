"""`brokerwise subscribe` and `brokerwise publish`, on a real fleet."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.processes import BROKERWISE, Process
from tests.runtime.live import live_fleet

from brokerwise.cli.fleet_user import gap_text, notice_text
from brokerwise.cli.main import run
from brokerwise.cli.publish import read_data
from brokerwise.cli.subscribe import parse_ranges
from brokerwise.model.errors import InputError
from brokerwise.runtime.client.events import (
    Connected,
    Disconnected,
    GapTold,
    Moved,
    Notice,
    Refused,
    Retrying,
)
from brokerwise.runtime.seeding.plain import seed_of_count

SECONDS = 60.0


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The directory of a fleet with one broker."""
    place = tmp_path_factory.mktemp("fleet")
    with live_fleet(seed_of_count(1), place):
        yield str(place)


def standard_input(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stdin"
    file.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", file.open())


@pytest.mark.parametrize("kind", ["text", "json"])
def test_what_is_published_is_printed(
    kind: str,
    state: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    topic = f"news in {kind}"
    options = ["--json"] if kind == "json" else []
    command = ["subscribe", topic, "--count", "4", "--state", state, *options]
    with Process([*BROKERWISE, *command]) as subscriber:
        subscriber.line_with("connected to b0: 1 topic", SECONDS)
        at = ["--state", state, "--as", "ann"]
        assert run(["publish", topic, '{"a": 1}', *at]) == 0
        lines = b'not json\n\n"two\\nlines \\u001b[31m"\r\n3'
        standard_input(lines, tmp_path, monkeypatch)
        assert run(["publish", topic, "-", *at]) == 0
        sys.stdin.close()
        assert subscriber.wait(SECONDS) == 0
        printed = [line for line in subscriber.lines if "connected" not in line]
    said = capsys.readouterr().out
    assert said == f"published 1 message to {topic}\npublished 3 messages to {topic}\n"
    data = [{"a": 1}, "not json", "two\nlines \x1b[31m", 3]
    if kind == "json":
        found = [json.loads(line) for line in printed]
        assert [f["data"] for f in found] == data
        assert {(f["type"], f["topic"], f["source"]) for f in found} == {
            ("message", topic, "ann")
        }
        assert [f["seq"] for f in found] == [1, 1, 2, 3]
    else:
        shown = ['{"a": 1}', "not json", "two\\nlines \\x1b[31m", "3"]
        assert printed == [f"{topic}  ann  {text}" for text in shown]


def test_a_pipe_is_published_line_by_line_as_it_comes(
    state: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"first\nsecond")
    os.close(writing)
    with os.fdopen(reading) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert run(["publish", "pipes", "--state", state]) == 0
    assert capsys.readouterr().out == "published 2 messages to pipes\n"


def test_ctrl_c_ends_a_subscription_cleanly(state: str) -> None:
    with Process([*BROKERWISE, "subscribe", "quiet", "--state", state]) as subscriber:
        subscriber.line_with("connected", SECONDS)
        subscriber.interrupt()
        assert subscriber.wait(SECONDS) == 130
        assert subscriber.lines[-1] == "interrupted; the session has ended"


@pytest.mark.parametrize("command", ["subscribe", "publish"])
def test_without_a_fleet_it_says_how_to_start_one(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "news", "--state", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "no fleet runs here" in said and "brokerwise up" in said


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "nothing to subscribe to"),
        (["--range", "x=0:1"], "this fleet runs no overlay"),
        (["--range", "x"], "expected NAME=LOW:HIGH"),
        (["bad\nname"], "no name may have"),
        (["--count", "0", "news"], "--count"),
    ],
)
def test_what_cannot_be_subscribed_to_is_bad_input(
    arguments: list[str],
    reason: str,
    state: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["subscribe", *arguments, "--state", state]) == 2
    assert reason in capsys.readouterr().err


def test_ranges_are_read_as_a_box() -> None:
    assert parse_ranges(["x=0.1:0.4", "y=-2:3"]) == {"x": (0.1, 0.4), "y": (-2.0, 3.0)}
    for wrong in (["x=2:1"], ["=1:2"], ["x=1"], ["x=a:b"], ["x=1:2", "x=2:3"]):
        with pytest.raises(InputError, match="--range"):
            parse_ranges(wrong)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ('"quoted"', "quoted"),
        ("hello", "hello"),
        ("007", "007"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_what_is_not_json_is_a_text(text: str, data: object) -> None:
    assert read_data(text) == data


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        (Connected("b1", 2), "connected to b1: 2 topics"),
        (Moved("b0", "b1"), "moved from b0 to b1"),
        (Disconnected("b0", "why"), "lost b0 (why): looking for a broker"),
        (Retrying("why"), "trying again: why"),
        (Refused("why"), "refused: why"),
    ],
)
def test_what_happens_to_a_session_is_said_plainly(notice: Notice, text: str) -> None:
    assert notice_text(notice) == text


def test_what_was_missed_is_said_plainly() -> None:
    assert gap_text(GapTold("news", "ann", 1)) == "missed 1 message of ann on news"
    assert gap_text(GapTold("news", "ann", 1200)) == (
        "missed 1,200 messages of ann on news"
    )
    assert gap_text(GapTold("a", "b", None)) == "missed some messages of b on a"
