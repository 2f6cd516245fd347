"""`brokerwise subscribe` and `brokerwise publish`, on a real fleet."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import BROKERWISE, Process, wait_until
from tests.runtime.live import live_fleet

from brokerwise.cli.fleet_user import gap_text, notice_text
from brokerwise.cli.main import run
from brokerwise.cli.publish import read_data
from brokerwise.cli.subscribe import parse_ranges
from brokerwise.model.errors import InputError
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import (
    Connected,
    Disconnected,
    Event,
    GapTold,
    Notice,
    Received,
    RequestRefused,
    Retrying,
    SessionMoved,
)
from brokerwise.runtime.fleet.files import fleet_path, read_fleet, start_time
from brokerwise.runtime.fleet.seeds import seed_of_count

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


@contextmanager
def fleet_of_its_own(place: Path) -> Iterator[Path]:
    """A fleet with one broker that a test may end as it likes."""
    assert run(["up", "--brokers", "1", "--detach", "--state", str(place)]) == 0
    try:
        yield place
    finally:
        assert run(["down", "--state", str(place)]) == 0


def test_subscribers_and_publishers_end_when_their_fleet_is_taken_down(
    tmp_path: Path,
) -> None:
    ends = tmp_path / "ends"
    os.mkfifo(ends)
    with fleet_of_its_own(tmp_path / "fleet") as state:
        at = ["--state", str(state)]
        publishing = " ".join([*BROKERWISE, "publish", "news", "-", *at])
        with (
            Process([*BROKERWISE, "subscribe", "news", *at]) as content,
            Process([*BROKERWISE, "subscribe", "news", "--count", "9", *at]) as waiting,
            Process(["bash", "-c", f"exec {publishing} < {ends}"]) as publisher,
            ends.open("w", buffering=1) as lines,
        ):
            for subscriber in (content, waiting):
                subscriber.line_with("connected to b0: 1 topic", SECONDS)
            lines.write("first\n")
            for subscriber in (content, waiting):
                subscriber.line_with("  first", SECONDS)
            assert run(["down", *at]) == 0
            lines.write("second\n")
            assert content.wait(20) == 0
            assert content.lines[-1] == f"the fleet of {state} has ended"
            assert waiting.wait(20) == 3
            assert f"error: the fleet of {state} has ended" in waiting.lines[-2]
            assert waiting.lines[-1] == "8 of 9 messages had not come."
            assert publisher.wait(20) == 3
            assert f"error: the fleet of {state} has ended" in publisher.lines[-1]


def test_a_subscriber_outlives_a_crash_of_coordinator_and_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fleet_of_its_own(tmp_path / "fleet") as state:
        at = ["--state", str(state)]
        with Process([*BROKERWISE, "subscribe", "news", *at]) as subscriber:
            subscriber.line_with("connected to b0: 1 topic", SECONDS)
            for pid in children(read_fleet(state).pid):
                os.kill(pid, signal.SIGKILL)
            subscriber.line_with("lost b0", SECONDS)
            wait_until(
                lambda: sum("connected to" in each for each in subscriber.lines) == 2,
                SECONDS,
            )
            assert run(["publish", "news", "again", *at, "--as", "ann"]) == 0
            subscriber.line_with("news  ann  again", SECONDS)


def test_a_subscriber_waits_for_a_fleet_that_was_killed_until_it_is_put_away(
    tmp_path: Path,
) -> None:
    with fleet_of_its_own(tmp_path / "fleet") as state:
        at = ["--state", str(state)]
        with Process([*BROKERWISE, "subscribe", "news", *at]) as subscriber:
            subscriber.line_with("connected to b0: 1 topic", SECONDS)
            keeper = read_fleet(state).pid
            os.kill(keeper, signal.SIGKILL)
            wait_until(lambda: start_time(keeper) is None, 10)
            subscriber.line_with("trying again", SECONDS)
            assert fleet_path(state).exists() and subscriber.alive()
            assert run(["down", *at]) == 0
            assert subscriber.wait(20) == 0


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for file in found for word in file.read_text().split()]


def test_a_token_lets_a_client_in(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["token", "ann", "--state", state]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("user.") and said.err == ""
    assert run(["token", "ann", "--json", "--state", state]) == 0
    found = json.loads(capsys.readouterr().out)
    fleet = read_fleet(Path(state))
    assert found == {
        "coordinator_url": fleet.coordinator,
        "user": "ann",
        "token": said.out.strip(),
        "authority": None,
    }

    async def hears_itself() -> Event:
        async with Client(**found) as client:
            await client.subscribe(["tokens"])
            await client.publish("tokens", "hello")
            return await anext(client.events())

    event = asyncio.run(hears_itself())
    assert isinstance(event, Received) and event.data == "hello"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["bad\nname"], "no name may have"),
        (["ann", "--at", "north"], "--at"),
        ([], "USER"),
    ],
)
def test_what_is_no_user_gets_no_token(
    arguments: list[str],
    reason: str,
    state: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["token", *arguments, "--state", state]) == 2
    said = capsys.readouterr()
    assert reason in said.err and said.out == ""


@pytest.mark.parametrize("command", ["subscribe", "publish", "token"])
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


@pytest.mark.parametrize("command", ["subscribe", "publish"])
def test_a_pattern_is_refused_and_nothing_waits(command: str, state: str) -> None:
    words = [command, "gps/*", "--state", state]
    with Process([*BROKERWISE, *words]) as refused:
        assert refused.wait(20) == 2
    assert refused.lines == [
        "error: 'gps/*' looks like a pattern; topics are taken by name, one by one",
        "If a topic is really called that: --literal",
    ]


def test_a_topic_that_is_called_like_a_pattern_is_served_if_one_says_so(
    state: str,
) -> None:
    words = ["gps/*", "--literal", "--state", state]
    with Process([*BROKERWISE, "subscribe", *words, "--count", "1"]) as subscriber:
        subscriber.line_with("connected to b0: 1 topic", SECONDS)
        assert run(["publish", "gps/*", "here", *words[1:], "--as", "ann"]) == 0
        assert subscriber.wait(SECONDS) == 0
    assert subscriber.lines[-1] == "gps/*  ann  here"


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
        (SessionMoved("b0", "b1"), "moved from b0 to b1"),
        (Disconnected("b0", "why"), "lost b0 (why): looking for a broker"),
        (Retrying("why"), "trying again: why"),
        (RequestRefused("why"), "refused: why"),
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
