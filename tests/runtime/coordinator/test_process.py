"""The coordinator as a process of its own."""

import asyncio
import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
from tests.runtime.coordinator.fakes import (
    KEYS,
    Caller,
    broker,
    plain_seed,
    run,
    token,
    until,
)
from tests.runtime.coordinator.watchers import watcher
from tests.runtime.net.ends import Recorder, serving

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator.process import DataClusterReader
from brokerwise.runtime.coordinator.store import STATE_FILE, seed_store
from brokerwise.runtime.net.http import HttpAnswer, HttpClient, HttpRequest, request
from brokerwise.runtime.process.launch import SEED_FILE, Launch, Ready
from brokerwise.runtime.protocol.limits import LOGIN_SECONDS
from brokerwise.runtime.protocol.tokens import Role


class Coordinator:
    """A process, ready; `url` is where it listens."""

    def __init__(self, launch: Launch) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "brokerwise.runtime.coordinator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONASYNCIODEBUG": ""},
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(msgspec.json.encode(launch) + b"\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        self.url = msgspec.json.decode(line, type=Ready).url if line else ""
        self._log: bytes | None = None

    def wait(self) -> int:
        return self.child.wait(15)

    def close(self) -> bytes:
        """What it wrote to its log."""
        if self._log is None:
            self.child.kill()
            with self.child:
                assert self.child.stderr is not None
                self._log = self.child.stderr.read()
        return self._log


@contextmanager
def coordinator(folder: Path, **changes: Any) -> Iterator[Coordinator]:
    options = {"state": str(folder), "port": 0, **changes}
    launch = Launch("coordinator", "127.0.0.1", keys=KEYS.as_json(), **options)
    process = Coordinator(launch)
    try:
        yield process
    finally:
        process.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    seed_store(tmp_path / STATE_FILE, plain_seed(2))
    return tmp_path


def test_it_says_when_it_is_ready_and_where(state: Path) -> None:
    with coordinator(state) as process:
        answer = run(request("GET", f"{process.url}/health", seconds=10))
        assert answer.status == 200


def test_it_stops_in_good_order_on_sigterm_and_when_its_input_ends(
    state: Path,
) -> None:
    with coordinator(state) as process:
        process.child.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert process.close() == b""
    with coordinator(state) as process:
        assert process.child.stdin is not None
        process.child.stdin.close()
        assert process.wait() == 0
    assert not (state / f"{STATE_FILE}-wal").exists()


def test_it_stops_at_once_and_without_a_word_while_somebody_watches(
    state: Path,
) -> None:
    async def work(process: Coordinator) -> None:
        async with watcher(Caller(process.url)) as seen:
            await seen.next("tick")
            process.child.send_signal(signal.SIGTERM)
            await seen.ended()
            assert await asyncio.to_thread(process.wait) == 0

    with coordinator(state) as process:
        run(work(process))
        assert process.close() == b""


class DataAnswers(Recorder):
    """A data cluster without datasets."""

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        if request.path in ("/datasets", "/channels"):
            return HttpAnswer(200, b'{"datasets": [], "channels": []}')
        return HttpAnswer(404, b'{"error": "there is none\\nand more"}')


async def test_what_the_data_cluster_refuses_is_said_in_a_line() -> None:
    answers = DataAnswers()
    async with serving(answers) as server:
        cluster = DataClusterReader(
            HttpClient(), f"http://127.0.0.1:{server.port}/", "a token", ""
        )
        assert await cluster.datasets() == ()
        assert await cluster.channels() == ()
        for ask_one in (cluster.dataset, cluster.channel):
            with pytest.raises(BrokerwiseError) as error:
                await ask_one("a?b")
            assert error.value.message == "there is none"
    asked = [request.path for request in answers.requests[2:]]
    assert asked == ["/datasets/a?b", "/channels/a?b"]
    assert {request.token() for request in answers.requests} == {"a token"}


def test_it_asks_the_data_cluster_of_which_it_was_told(state: Path) -> None:
    async def work(url: str) -> None:
        async with watcher(Caller(url)) as seen:
            assert "http://127.0.0.1:1/" in (await seen.next("data"))["problem"]

    with coordinator(state, data_cluster="http://127.0.0.1:1") as process:
        run(work(process.url))


def test_of_a_new_fleet_it_begins_with_the_seed_once(state: Path) -> None:
    seed = state / SEED_FILE
    seed.write_bytes(msgspec.json.encode(plain_seed(3)))
    for _ in range(2):
        with coordinator(state) as process:
            status = run(Caller(process.url).done("/status"))
            assert len(status["brokers"]) == 3
        assert not seed.exists()


def test_without_a_state_it_says_so_and_ends(tmp_path: Path) -> None:
    with coordinator(tmp_path) as process:
        assert process.wait() == 3
        assert b"there is no coordinator state" in process.close()


def test_it_comes_back_on_the_same_port_after_kill_9_and_forgets_nothing(
    state: Path,
) -> None:
    async def work() -> None:
        with coordinator(state) as first:
            caller = Caller(first.url)
            port = int(first.url.rsplit(":", 1)[1])
            async with broker("b0", caller) as b0, broker("b1", caller) as b1:
                await b0.join(caller, "news")
                places: dict[str, Any] = {}
                asked = asyncio.create_task(ask_without_end(caller, places))
                await until(lambda: len(places) > 50)
                first.child.kill()
                first.wait()
                await asyncio.gather(asked, return_exceptions=True)
                with coordinator(state, port=port) as second:
                    assert second.url == first.url
                    for user, place in places.items():
                        found = await caller.done("/requestbroker", {"user": user})
                        assert found == place
                    again = await b1.join(caller, "news")
                    assert again["routes"][0]["generation"] == 2
                    before = max(b0.epoch, b1.epoch)
                    await b0.register(caller)
                    assert b0.epoch > before

    run(work(), 60)


async def ask_without_end(caller: Caller, places: dict[str, Any]) -> None:
    number = 0
    while True:
        number += 1
        user = f"u{number}"
        places[user] = await caller.done("/requestbroker", {"user": user}, token(user))


def test_two_thousand_users_are_placed_within_seconds(state: Path) -> None:
    async def work() -> None:
        with coordinator(state) as process:
            caller = Caller(process.url)
            async with broker("b0", caller) as b0, broker("b1", caller) as b1:
                started = time.monotonic()
                counts = {"b0": 0, "b1": 0}
                for start in range(0, 2000, 50):
                    asked = [
                        caller.done("/requestbroker", {"user": f"u{i}"})
                        for i in range(start, start + 50)
                    ]
                    beats = [b0.beat(caller), b1.beat(caller)]
                    for found in (await asyncio.gather(*asked, *beats))[:50]:
                        counts[found["sessions"][0]["broker"]] += 1
                assert counts == {"b0": 1000, "b1": 1000}
                # 3 s when nothing else runs; tests share two cores.
                assert time.monotonic() - started < 20

    run(work(), 60, debug=False)


def test_with_a_certificate_it_speaks_tls_and_so_it_does_to_brokers(
    tmp_path: Path,
) -> None:
    seed_store(tmp_path / STATE_FILE, plain_seed(1))
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    names = {n: str(tmp_path / n) for n in ("certificate", "private_key", "authority")}
    issued.private_key_and_cert_chain_pem.write_to_path(names["certificate"])
    issued.private_key_pem.write_to_path(names["private_key"])
    authority.cert_pem.write_to_path(names["authority"])
    trusting = ssl.create_default_context(cafile=names["authority"])
    listening = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    issued.configure_cert(listening)

    async def work(url: str) -> None:
        caller = Caller(url, trusting)
        async with broker("b0", caller, listening) as b0:
            assert b0.url.startswith("wss://")
            await caller.done("/routes", {"topics": ["news"]})
            assert b0.members("news") == ["b0"]

    with coordinator(tmp_path, **names) as process:
        assert process.url.startswith("https://")
        run(work(process.url))


def test_only_brokers_and_operators_may_keep_their_connection(state: Path) -> None:
    """Those of everybody else are closed after one answer, so that they are few."""
    with coordinator(state) as process:
        host, port = process.url.removeprefix("http://").split(":")
        for holder, kept in (("broker", True), ("operator", True), ("none", False)):
            found = KEYS.token(Role(holder), "x") if holder != "none" else ""
            asked = (
                f"GET /subchannels HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {found}"
            )
            with socket.create_connection((host, int(port)), timeout=10) as line:
                heads = []
                for _ in range(2 if kept else 1):
                    line.sendall(f"{asked}\r\n\r\n".encode())
                    answer = http.client.HTTPResponse(line)
                    answer.begin()
                    answer.read()
                    heads.append(answer.getheader("connection"))
                assert heads == ([None, None] if kept else ["close"])
                if not kept:
                    assert line.recv(1) == b""


def test_it_may_have_as_many_files_open_as_the_machine_allows(state: Path) -> None:
    with coordinator(state) as process:
        limits = Path(f"/proc/{process.child.pid}/limits").read_text()
        (soft, hard) = re.findall(r"^Max open files +(\d+) +(\d+)", limits, re.M)[0]
        assert soft == hard
        operator = KEYS.token(Role.OPERATOR, "operator")
        url = f"{process.url}/metrics"
        answer = run(request("GET", url, token=operator, seconds=10))
        assert f"\nprocess_max_fds {hard}\n" in answer.body.decode()
        assert re.search(r"^process_open_fds [1-9]\d*$", answer.body.decode(), re.M)


def test_connections_that_say_nothing_are_closed_and_others_go_on(
    state: Path,
) -> None:
    with coordinator(state) as process:
        host, port = process.url.removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(200)]
        for number, connection in enumerate(silent):
            connection.settimeout(LOGIN_SECONDS + 10)
            if number % 2:
                connection.sendall(b"GET /health HTTP/1.1\r\nHos")
        answer = run(request("GET", f"{process.url}/health", seconds=5))
        assert answer.status == 200
        for connection in silent:
            assert b" 200 " not in connection.recv(1000)
            connection.close()
