"""What a process says of itself: one line an event, to standard error.

    2026-11-18T07:30:00.123Z WARNING b0 broker.connections: connections refused: 12, ...
    {"time": "2026-11-18T07:30:00.123Z", "level": "warning", "process": "b0", ...}

Modules call `logging.getLogger(__name__)` and nothing else; `set_up` decides how it
looks. Whatever is in a message, it stays one line, and a token in it is not shown.
"""

import asyncio
import json
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any

MAX_LOG_BYTES = 10_000_000  # then a log goes on in an empty file; one old one is kept
LOOK_SECONDS = 5.0  # between looks at how large a log is
LIMITED_SECONDS = 10.0

log = logging.getLogger(__name__)
# A program that uses us as a library, and has set up no logging, sees none of it.
logging.getLogger("brokerwise").addHandler(logging.NullHandler())

# What others log. Py4J says of each lost connection to the JVM, with a traceback, and
# some of it under no name, what we say once in our own words.
_OTHERS = {"py4j": logging.CRITICAL}
_NO_NAME = "root"
_TOKEN = re.compile(r"\b(user|broker|operator)\.[\w-]+\.[0-9a-f]{16,}")
_TEXT = re.compile(r"[\d:.T-]+Z [A-Z]+ \S+ \S+: (.*)", re.DOTALL)


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class LogSettings:
    """How the processes of a fleet log; `level` is the least that is said."""

    format: LogFormat = LogFormat.TEXT
    level: LogLevel = LogLevel.INFO


def set_up(process: str, settings: LogSettings) -> None:
    """Log to standard error from now on, under the name of this process.

    An error that ends the process, or a thread of it, is logged too. To be called
    again if more is known: the last call holds.
    """
    handler = _StderrHandler()
    handler.setFormatter(LineFormatter(process, settings.format))
    handler.addFilter(lambda record: record.name != _NO_NAME)
    root = logging.getLogger()
    for former in [h for h in root.handlers if isinstance(h.formatter, LineFormatter)]:
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    for name, level in _OTHERS.items():
        logging.getLogger(name).setLevel(level)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_thread


class _StderrHandler(logging.Handler):
    """Writes to what is standard error now, which tests replace."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


class LineFormatter(logging.Formatter):
    """Time, level, process, logger and message, as text or as a JSON object.

    Text of others cannot pass for a line of ours: control characters and line ends
    in a message are escaped, and the lines of a traceback are indented.
    """

    def __init__(self, process: str, format: LogFormat) -> None:
        super().__init__()
        self._process, self._format = process, format

    def format(self, record: logging.LogRecord) -> str:
        logger = record.name.removeprefix("brokerwise.").removeprefix("runtime.")
        message, trace = _hide_tokens(record.getMessage()), ""
        if record.exc_info:
            trace = _hide_tokens(self.formatException(record.exc_info))
        if self._format is LogFormat.TEXT:
            process = escaped(self._process).replace(" ", r"\x20")
            head = f"{_time(record.created)} {record.levelname} {process} {logger}"
            lines = (f"\n  | {escaped(line)}" for line in trace.splitlines())
            return f"{head}: {escaped(message)}{''.join(lines)}"
        said = {
            "time": _time(record.created),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": logger,
            "message": message,
        }
        return json.dumps({**said, "error": trace} if trace else said)


def message_in(line: str) -> str:
    """The message of a line that was logged in either format; any other line whole."""
    if found := _TEXT.fullmatch(line):
        return found[1]
    try:
        said = json.loads(line)
    except ValueError:
        return line
    known = isinstance(said, dict) and "message" in said
    return str(said["message"]) if known else line


def escaped(text: str) -> str:
    """The text without what would end a line or move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def limited(
    log: logging.Logger, key: str, seconds: float = LIMITED_SECONDS
) -> "LimitedLog":
    """For lines that strangers cause: at most one in `seconds` is logged.

        limited(log, "login").warning("login of %r refused: %s", user, why)

    The next one that is says how many were left out. `key` names the kind of line; it
    must not be made of what a stranger sent, for each is remembered.
    """
    return LimitedLog(log, key, seconds)


class LimitedLog(logging.LoggerAdapter[logging.Logger]):
    """A logger that leaves out lines that come too fast. Made by `limited`."""

    def __init__(self, log: logging.Logger, key: str, seconds: float) -> None:
        super().__init__(log)
        self._key, self._seconds = f"{log.name} {key}", seconds

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if not self.isEnabledFor(level):
            return
        now = time.monotonic()
        last, left_out = last_logged.get(self._key, (-self._seconds, 0))
        if now - last < self._seconds:
            last_logged[self._key] = last, left_out + 1
            return
        last_logged[self._key] = now, 0
        if left_out:
            msg, args = f"{msg} (%d more like it were left out)", (*args, left_out)
        self.logger.log(level, msg, *args, **kwargs)


last_logged: dict[str, tuple[float, int]] = {}  # when, and how many were left out since


@asynccontextmanager
async def bounded_log(path: Path) -> AsyncIterator[None]:
    """Rotate a log whenever it has grown too large, as long as the context lasts."""

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            rotate(path)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


def rotate(path: Path) -> bool:
    """Put aside what a log holds, as NAME.1, if it is too large; True if so.

    Several processes (also Spark's JVM) have the file open, and append to it. So it
    is copied and emptied in place; a line that is written just then may be lost.
    """
    old, fresh = path.with_name(f"{path.name}.1"), path.with_name(f"{path.name}.new")
    try:
        if path.stat().st_size <= MAX_LOG_BYTES:
            return False
        with path.open("rb+") as now, fresh.open("wb") as kept:
            os.fchmod(kept.fileno(), path.stat().st_mode & 0o777)
            shutil.copyfileobj(now, kept)
            now.truncate(0)
        fresh.replace(old)
    except FileNotFoundError:
        return False
    except OSError as cause:  # a full disk: tried again at the next look
        limited(log, "rotate", 600).warning("cannot rotate %s: %s", path, cause)
        fresh.unlink(missing_ok=True)
        return False
    return True


def _time(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _hide_tokens(text: str) -> str:
    return _TOKEN.sub(r"\1.(token)", text)


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if isinstance(error, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("ended by an error: %r", error, exc_info=(kind, error, trace))


def _log_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is None or isinstance(found.exc_value, SystemExit):
        return
    name = found.thread.name if found.thread is not None else ""
    trace = found.exc_type, found.exc_value, found.exc_traceback
    log.error("thread %r ended by an error: %r", name, found.exc_value, exc_info=trace)
