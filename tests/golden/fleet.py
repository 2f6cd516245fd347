"""A real fleet, looked at from outside: processes, HTTP, WebSockets, commands."""

import http.client
import io
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from tests.golden.forms import steady

from brokerwise.cli.main import run

STORED = Path(__file__).parent / "stored"
SECONDS = 120.0  # the first plan ever compiles its kernels

# A JVM that never comes up, for as long as a file says so: everything but runs of
# channels is there without Spark, and costs nothing.
_JAVA = '#!/bin/sh\nwhile [ -e "$JAVA_HOME/starting" ]; do sleep 0.1; done\nexit 1\n'


@dataclass(frozen=True)
class Said:
    """What a command has said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def command(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(words)
    return Said(code, out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Answer:
    status: int
    kind: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    url: str, token: str = "", body: Any = None, method: str = "", length: int = -1
) -> Answer:
    """What anybody's HTTP client would do. Bytes are sent as they are; with a
    `length`, that is what the head says, and nothing is sent after it."""
    parts = urlsplit(url)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    head = {"Content-Type": "application/json"}
    head |= {"Authorization": f"Bearer {token}"} if token else {}
    head |= {"Content-Length": str(length)} if length >= 0 else {}
    method = method or ("GET" if content is None and length < 0 else "POST")
    with closing(http.client.HTTPConnection(parts.netloc, timeout=SECONDS)) as line:
        line.request(method, path, content, head)
        with line.getresponse() as answer:
            kind = answer.headers.get_content_type()
            is_endless = kind == "application/x-ndjson"
            return Answer(answer.status, kind, b"" if is_endless else answer.read())


class Calls:
    """Calls of a service, each noted with its answer, without what is not steady."""

    def __init__(self, url: str, tokens: dict[str, str]) -> None:
        self.url, self._tokens = url, tokens
        self.noted: dict[str, Any] = {}

    def __call__(
        self,
        role: str,
        call: str,
        body: Any = None,
        *,
        note: str = "",
        length: int = -1,
    ) -> Any:
        """Returns what is answered; None if that is no JSON."""
        method, path = call.split(" ", 1)
        token = self._tokens.get(role, "")
        answer = ask(f"{self.url}{path}", token, body, method, length)
        shown: dict[str, Any] = {"as": role, "status": answer.status}
        if body is not None:
            is_text = isinstance(body, bytes)
            shown["body"] = body.decode("latin-1") if is_text else steady(body)
        content = None
        if answer.kind == "application/json":
            content = answer.json
            shown["answer"] = steady(content)
            if answer.status == 422:
                shown["answer"] = {name: "<text>" for name in content}
        else:
            shown["kind"] = answer.kind
        name = f"{call} ({note})" if note else call
        assert name not in self.noted, f"{name} is noted already"
        self.noted[name] = shown
        return content


class Fleet:
    """`tokens` are those of an operator, of a broker, and of users who have asked."""

    def __init__(self, state: Path, up: Said) -> None:
        self.state, self.up = state, up
        self.file = json.loads((state / "fleet.json").read_text())
        self.coordinator = str(self.file["coordinator"])
        self.data_cluster = str(self.file["data_cluster"])
        self.tokens = {
            "operator": self.file["operator_token"],
            "broker": self.file["broker_token"],
        }

    def command(self, *words: str) -> Said:
        return command(*words, "--state", str(self.state))

    def token(self, user: str) -> str:
        answer = ask(
            f"{self.coordinator}/registeruser", self.tokens["operator"], {"user": user}
        )
        return str(answer.json["token"])

    def brokers(self) -> dict[str, Any]:
        """What the coordinator says of each, by name."""
        answer = ask(f"{self.coordinator}/status", self.tokens["operator"])
        return {broker["broker"]: broker for broker in answer.json["brokers"]}

    def calls(self, url: str) -> Calls:
        return Calls(url, self.tokens)


@contextmanager
def fleet_in(folder: Path, *words: str) -> Iterator[Fleet]:
    """A fleet of `up`, that is down at the end, whatever happens."""
    state = folder / "fleet"
    up = command("up", "--detach", "--json", "--state", str(state), *words)
    try:
        assert up.code == 0, up.err
        yield Fleet(state, up)
    finally:
        down = command("down", "--state", str(state))
        assert down.code == 0, down.err


@contextmanager
def no_spark(folder: Path) -> Iterator[None]:
    """A folder with a JVM that is still starting, until the context is left."""
    program, starting = folder / "java/bin/java", folder / "java/starting"
    program.parent.mkdir(parents=True)
    program.write_text(_JAVA)
    program.chmod(0o755)
    starting.touch()
    try:
        yield
    finally:
        starting.unlink()


@contextmanager
def java_of(folder: Path) -> Iterator[None]:
    """What is started meanwhile has the JVM of `no_spark`; nothing later does."""
    with patch.dict(os.environ, {"JAVA_HOME": str(folder / "java")}):
        yield


def store_data(folder: Path) -> None:
    """What an earlier data cluster has left: datasets, channels, and two results of
    one of these that ann has not had."""
    for name in ("segments", "results"):
        (folder / name).mkdir(parents=True)
    text = (STORED / "data.sql").read_text().replace("<now>", repr(time.time()))
    with closing(sqlite3.connect(folder / "data.sqlite")) as sql:
        sql.executescript(text)
    results = (STORED / "near-1.ndjson").read_bytes()
    (folder / "results/near-1.ndjson").write_bytes(results)
    fires = pa.table({"place": ["here", "there"], "size": [1, 2]})
    pq.write_table(fires, folder / "segments/fires-1.parquet")
