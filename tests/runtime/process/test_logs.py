"""What processes log: one line an event, that nobody can forge, with no token in it."""

import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.runtime.fleet.fakes import until

from brokerwise.runtime.process import logs
from brokerwise.runtime.process.launch import Launch
from brokerwise.runtime.process.logs import (
    LineFormatter,
    LogFormat,
    LogLevel,
    LogSettings,
    bounded_log,
    limited,
    message_in,
    rotate,
    set_up,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

KEYS = Keys.of_secret(b"a secret of this test")
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ([A-Z]+) (\S+) (\S+): (.*)")


def line(
    format: LogFormat, message: str, *args: object, process: str = "b0", error: str = ""
) -> str:
    """A record of a module of ours, as it is written."""
    trace = None
    if error:
        try:
            raise ValueError(error)
        except ValueError:
            trace = sys.exc_info()
    name = "brokerwise.runtime.broker.connections"
    record = logging.LogRecord(name, logging.WARNING, "", 0, message, args, trace)
    return LineFormatter(process, format).format(record)


def test_a_line_has_time_level_process_logger_and_message() -> None:
    found = LINE.fullmatch(line(LogFormat.TEXT, "broker %r is %s", "b 1", "lost"))
    assert found is not None
    assert found.groups() == (
        "WARNING",
        "b0",
        "broker.connections",
        "broker 'b 1' is lost",
    )


def test_a_line_of_json_says_the_same() -> None:
    said = json.loads(line(LogFormat.JSON, "broker %r is %s", "b 1", "lost"))
    assert re.fullmatch(r"[\d-]+T[\d:]+\.\d{3}Z", said.pop("time"))
    assert said == {
        "level": "warning",
        "process": "b0",
        "logger": "broker.connections",
        "message": "broker 'b 1' is lost",
    }


@pytest.mark.parametrize("format", list(LogFormat))
@pytest.mark.parametrize(
    "nasty", ["a\nb", "a\r\nb", "\x1b[2J", "\u2028", "\x85", "\udc80"]
)
def test_no_name_and_no_error_can_forge_a_line(format: LogFormat, nasty: str) -> None:
    forged = f"{nasty}2026-01-01T00:00:00.000Z INFO b0 x: all is well"
    for text in (
        line(format, "user %s", forged),
        line(format, "user %s", forged, process=forged),
        line(format, "failed", error=forged),
    ):
        first, *more = text.splitlines()
        assert all(part.startswith("  | ") for part in more)
        assert first.isprintable()
        assert not more or format is LogFormat.TEXT


@pytest.mark.parametrize("format", list(LogFormat))
def test_a_token_is_not_shown(format: LogFormat) -> None:
    for role in Role:
        token = KEYS.token(role, "ann")
        for text in (
            line(format, "asked with Bearer %s", token),
            line(format, "http://h:1/#token=%s.", token),
            line(format, "failed", error=f"wrong: {token}"),
        ):
            assert token not in text
            assert token.rpartition(".")[2] not in text
            assert f"{role}.(token)" in text


@pytest.mark.parametrize("format", list(LogFormat))
def test_the_message_of_a_line_can_be_had_again(format: LogFormat) -> None:
    text = line(format, "error: %s: x", "the port is taken", process="b: 0")
    assert message_in(text) == "error: the port is taken: x"


@pytest.mark.parametrize("text", ["", "Killed", "[1]", "{}", "a: b", "12"])
def test_a_line_that_nobody_logged_is_left_as_it_is(text: str) -> None:
    assert message_in(text) == text


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(logs, "last_logged", {})
    yield now


def test_lines_of_strangers_are_limited_and_counted(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    ours = logging.getLogger("brokerwise.test")

    def refuse(user: str, key: str = "login") -> None:
        limited(ours, key, 10).warning("login of %r refused", user)

    for number in range(50):
        refuse(f"u{number}")
    refuse("x", key="other")
    clock[0] += 10
    refuse("ann")
    clock[0] += 10
    refuse("bob")
    assert caplog.messages == [
        "login of 'u0' refused",
        "login of 'x' refused",
        "login of 'ann' refused (49 more like it were left out)",
        "login of 'bob' refused",
    ]


def test_a_line_below_the_level_counts_for_nothing(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    ours = logging.getLogger("brokerwise.test")
    caplog.set_level(logging.WARNING)
    limited(ours, "login", 10).info("not shown")
    limited(ours, "login", 10).warning("shown")
    assert caplog.messages == ["shown"]


@pytest.fixture
def ten_bytes_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_LOG_BYTES", 10)
    monkeypatch.setattr(logs, "LOOK_SECONDS", 0.01)


@pytest.mark.usefixtures("ten_bytes_are_too_many")
def test_a_log_that_is_too_large_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "b0.log"
    assert not rotate(path)
    with path.open("ab", buffering=0) as writer:
        path.chmod(0o600)
        for number in range(3):
            writer.write(b"line %d, long\n" % number)
            assert rotate(path)
            assert path.read_bytes() == b""
            assert (tmp_path / "b0.log.1").read_bytes() == b"line %d, long\n" % number
        writer.write(b"short\n")
        assert not rotate(path)
    assert path.read_bytes() == b"short\n"
    assert (tmp_path / "b0.log.1").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b0.log", "b0.log.1"]


@pytest.mark.usefixtures("ten_bytes_are_too_many")
async def test_a_log_is_watched_as_long_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "up.log"
    async with bounded_log(path):
        path.write_text("a long line\n")
        await until(lambda: path.stat().st_size == 0)
    assert (tmp_path / "up.log.1").read_text() == "a long line\n"


@pytest.mark.usefixtures("ten_bytes_are_too_many")
def test_a_log_that_cannot_be_put_aside_is_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, clock: list[float]
) -> None:
    path = tmp_path / "b0.log"
    path.write_text("a long line\n")
    (tmp_path / "b0.log.new").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda self, missing_ok: None)
        assert not rotate(path)
    assert path.read_text() == "a long line\n"
    assert "cannot rotate" in caplog.text


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Whatever is set up is undone."""
    root, hooks = logging.getLogger(), (sys.excepthook, threading.excepthook)
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    sys.excepthook, threading.excepthook = hooks


def test_a_second_set_up_takes_the_place_of_the_first(
    own_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up("process", LogSettings())
    set_up("b0", LogSettings(LogFormat.JSON, LogLevel.WARNING))
    ours = logging.getLogger("brokerwise.test")
    ours.info("not shown")
    ours.warning("shown")
    logging.getLogger().warning("what Py4J says under no name")
    said = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert [(one["process"], one["message"]) for one in said] == [("b0", "shown")]


def test_a_thread_that_dies_says_why(
    own_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up("b0", LogSettings())

    def fail() -> None:
        raise ValueError("no such thing")

    thread = threading.Thread(target=fail, name="reader")
    thread.start()
    thread.join()
    first, *more = capsys.readouterr().err.splitlines()
    assert "thread 'reader' ended by an error: ValueError('no such thing')" in first
    assert more[-1] == "  | ValueError: no such thing"


PROGRAM = """
import sys
from brokerwise.runtime.process.launch import run_process

def work(launch):
    if launch.coordinator == "crash":
        import os, signal
        os.kill(os.getpid(), signal.SIGSEGV)
    raise {"os": OSError, "other": KeyError}[launch.coordinator]("no such thing")

sys.exit(run_process(work))
"""


@pytest.mark.parametrize(
    ("failure", "code", "level", "why"),
    [
        ("os", 3, "error", "error: no such thing"),
        ("other", 1, "critical", "ended by an error: KeyError('no such thing')"),
    ],
)
def test_a_process_that_fails_says_why(
    failure: str, code: int, level: str, why: str
) -> None:
    ended = process(failure, LogFormat.JSON)
    assert ended.returncode == code
    (said,) = [json.loads(text) for text in ended.stderr.splitlines()]
    assert (said["process"], said["level"]) == ("b7", level)
    assert said["message"] == why


def test_a_process_that_crashes_says_where() -> None:
    ended = process("crash", LogFormat.TEXT)
    assert ended.returncode < 0
    assert b"Segmentation fault" in ended.stderr


def test_a_process_that_is_not_told_what_to_be_says_so() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "brokerwise.runtime.broker"],
        input=b"hello\n",
        capture_output=True,
    )
    assert ended.returncode == 3
    found = LINE.fullmatch(ended.stderr.decode().strip())
    assert found is not None
    assert found[2] == "broker"
    assert "expected a line of JSON" in found[4]
    assert "This program is started by: brokerwise up" in found[4]


def test_a_broker_that_is_started_as_a_package_logs_under_names_of_modules() -> None:
    launch = Launch("b7", "127.0.0.1", 0, KEYS.as_json(), coordinator="http://[::1]:1")
    with subprocess.Popen(
        [sys.executable, "-m", "brokerwise.runtime.broker"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None and child.stderr is not None
        child.stdin.write(msgspec.json.encode(launch) + b"\n")
        child.stdin.flush()
        first = child.stderr.readline().decode().strip()
        child.kill()
    found = LINE.fullmatch(first)
    assert found is not None
    assert found[3] == "broker.process"


def process(failure: str, format: LogFormat) -> "subprocess.CompletedProcess[bytes]":
    launch = Launch("b7", "h", 0, {}, coordinator=failure, log=LogSettings(format))
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=msgspec.json.encode(launch) + b"\n",
        capture_output=True,
    )
