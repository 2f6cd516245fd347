"""fleet.json: where a fleet that runs can be reached, and with which tokens; and
the secret that these are signed with, which the next fleet of the same state has too.
"""

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.processes import ProcessName, machine

FORMAT = 1
DEFAULT_STATE = Path("out/fleet")
_NAME = "fleet.json"
_SECRET = "secret"
_SECRET_BYTES = 32


@dataclass(frozen=True)
class FleetFile:
    """How to reach a fleet. Whoever can read it can do anything to the fleet.

    Attributes
    ----------
    coordinator
        Its URL, http://host:port or https://host:port.
    pid, started, machine
        Of the process that keeps the fleet running (`brokerwise up`), and where it
        does; empty: here.
    secret
        What all keys are made of, in hex.
    host
        Where its processes listen.
    authority, certificate, private_key
        PEM files: what its certificates are checked against, and those of a broker
        that joins; empty without TLS.
    plan, kind
        Directory and kind of the plan that it runs; empty without one.
    data_cluster, data
        URL of the data cluster, and the directory of its data; empty without one.
    """

    coordinator: str
    pid: int
    started: int
    secret: str
    operator_token: str
    broker_token: str
    host: str = "127.0.0.1"
    authority: str = ""
    certificate: str = ""
    private_key: str = ""
    plan: str = ""
    kind: str = ""
    data_cluster: str = ""
    data: str = ""
    machine: str = ""
    format: int = FORMAT

    @property
    def page(self) -> str:
        """The address at which a browser shows the fleet. What is behind the # stays
        in the browser, and lets it do anything to the fleet."""
        return f"{self.coordinator}/#token={self.operator_token}"

    @property
    def is_elsewhere(self) -> bool:
        """Whether another machine keeps it: this is a copy of its file."""
        return self.machine not in ("", machine())

    @property
    def running(self) -> bool:
        """Of a fleet elsewhere only its coordinator can say that it has ended."""
        return self.is_elsewhere or ProcessName(self.pid, self.started).running


def fleet_path(state: Path) -> Path:
    return state / _NAME


def read_fleet(state: Path) -> FleetFile:
    """The fleet that runs with this state directory; InputError if none does."""
    fleet = find_fleet(state)
    if fleet is None:
        raise InputError(
            f"no fleet runs here: {state} has no {_NAME}", hint=_start_hint(state)
        )
    if not fleet.running:
        raise InputError(
            f"the fleet of {state} has ended: its process {fleet.pid} is gone",
            hint=_start_hint(state),
        )
    return fleet


def was_taken_down(state: Path, fleet: FleetFile) -> bool:
    """True if a fleet was taken down, or another has taken its place.

    One that was killed was not: it may be started again, and is the same one if it
    has its address and its secret.
    """
    if fleet.running:
        return False
    now = find_fleet(state)
    return now is None or (
        (now.coordinator, now.secret) != (fleet.coordinator, fleet.secret)
    )


def find_fleet(state: Path) -> FleetFile | None:
    """What fleet.json says, whether that fleet still runs or not; None without one.

    Raises InputError for a file that cannot be read.
    """
    path = fleet_path(state)
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as cause:
        raise InputError(f"cannot read {path}: {cause.strerror}") from cause
    try:
        fleet = msgspec.json.decode(content, type=FleetFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise InputError(
            f"{path} is not the file of a fleet: {cause}",
            hint="Remove it and start the fleet again.",
        ) from cause
    if fleet.format != FORMAT:
        raise InputError(f"{path} has format {fleet.format}, expected {FORMAT}")
    return fleet


def write_fleet(state: Path, fleet: FleetFile) -> None:
    """Put fleet.json in place, for its owner only; readers see all of it or none."""
    content = msgspec.json.format(msgspec.json.encode(fleet)) + b"\n"
    _put(fleet_path(state), content)


def remove_fleet(state: Path) -> None:
    fleet_path(state).unlink(missing_ok=True)


def kept_secret(state: Path) -> bytes:
    """What all keys of this state's fleets are made of. The first one makes it.

    Whoever calls holds the lock of the state directory. Raises InputError for a file
    that is damaged, or that others than its owner can get at.
    """
    path = state / _SECRET
    try:
        mode, content = stat.S_IMODE(path.stat().st_mode), path.read_bytes()
    except FileNotFoundError:
        secret = secrets.token_bytes(_SECRET_BYTES)
        _put(path, secret.hex().encode() + b"\n")
        return secret
    except OSError as cause:
        raise InputError(f"cannot read {path}: {cause.strerror}") from cause
    if mode & 0o077:
        raise InputError(
            f"{path}: found mode {mode:o}, expected 600: others than its owner can get "
            "at it, and whoever can read it can do anything to the fleet",
            hint=f"If nobody has: chmod 600 {path}; if somebody may have, remove it, "
            "and all tokens are void.",
        )
    secret = _from_hex(content)
    if len(secret) != _SECRET_BYTES:
        raise InputError(
            f"{path} is not the secret of a fleet: found {len(content):,} bytes, "
            f"expected {2 * _SECRET_BYTES} hexadecimal digits",
            hint="Put back what was there; or remove it, and all tokens are void.",
        )
    return secret


def _from_hex(content: bytes) -> bytes:
    """Empty if it is none."""
    try:
        return bytes.fromhex(content.decode().strip())
    except ValueError:
        return b""


def _put(path: Path, content: bytes) -> None:
    """A file for its owner only, there whole or not at all, and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _start_hint(state: Path) -> str:
    option = "" if state == DEFAULT_STATE else f" --state {state}"
    return f"Start one: brokerwise up{option}"
