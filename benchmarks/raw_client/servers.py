"""The brokers that are compared, each started for the benchmark and ended by it."""

import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from benchmarks.raw_client.connecting import Address
from benchmarks.raw_client.mqtt import Mqtt
from benchmarks.raw_client.speech import Speech
from benchmarks.raw_client.websocket import Brokerwise

from brokerwise.runtime.coordinator.store import seed_store
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.process.launch import Launch, Ready
from brokerwise.runtime.protocol.tokens import Keys, Role

_HOST = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0

# Nothing is dropped and nothing is written to disk; all else as it comes.
_MOSQUITTO = """
listener {port} {host}
allow_anonymous true
persistence false
max_inflight_messages 0
max_queued_messages 0
set_tcp_nodelay {nodelay}
log_dest stderr
log_type error
"""


@dataclass(frozen=True)
class Target:
    """A broker that runs; `speech` makes a new client's protocol."""

    address: Address
    process: int
    speech: Callable[[], Speech]


def mosquitto_program() -> str | None:
    return shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin")


@contextmanager
def mosquitto(program: str, *, nodelay: bool) -> Iterator[tuple[Target, Target]]:
    """Mosquitto, as seen by clients at quality of service 0 and 1."""
    port = _free_port()
    text = _MOSQUITTO.format(host=_HOST, port=port, nodelay=str(nodelay).lower())
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as settings:
        settings.write(text)
        settings.flush()
        Path(settings.name).chmod(0o644)  # it may run as a user of its own
        with _running([program, "-c", settings.name]) as process:
            _wait_for(port, process)
            address = (_HOST, port)
            yield (
                Target(address, process.pid, _AtQuality(0)),
                Target(address, process.pid, _AtQuality(1)),
            )


@contextmanager
def our_broker() -> Iterator[Target]:
    """One of our brokers, with the coordinator that it needs."""
    keys = Keys.of_secret(secrets.token_bytes(32))
    with tempfile.TemporaryDirectory() as state:
        seed_store(Path(state) / "coordinator.sqlite", seed_of_count(1))
        first = Launch("coordinator", _HOST, 0, keys.as_json(), state=state)
        with _launched("brokerwise.runtime.coordinator", first) as (coordinator, _):
            known = keys.only(Role.USER, Role.BROKER).as_json()
            second = Launch("b0", _HOST, 0, known, coordinator=coordinator.url)
            with _launched("brokerwise.runtime.broker", second) as (broker, process):
                port = int(broker.url.rpartition(":")[2])
                yield Target((_HOST, port), process.pid, _WithKeys(keys))


@dataclass(frozen=True)
class _AtQuality:
    quality: int

    def __call__(self) -> Speech:
        return Mqtt(self.quality)


@dataclass(frozen=True)
class _WithKeys:
    keys: Keys

    def __call__(self) -> Speech:
        return Brokerwise(self.keys)


@contextmanager
def _launched(
    module: str, launch: Launch
) -> Iterator[tuple[Ready, "subprocess.Popen[bytes]"]]:
    with _running([sys.executable, "-m", module]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(launch) + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            sys.exit(f"{module} ended before it was ready")
        yield msgspec.json.decode(line, type=Ready), process


@contextmanager
def _running(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_port() -> int:
    with socket.socket() as its:
        its.bind((_HOST, 0))
        port: int = its.getsockname()[1]
        return port


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection((_HOST, port), 1):
            return
        time.sleep(0.05)
    sys.exit(f"nobody listens on port {port}: the server did not start")
