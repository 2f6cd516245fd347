"""The files of a state directory.

fleet.json says where a fleet that runs can be reached, and with which tokens. The
secret that these are signed with stays for the next fleet. The lock lets one fleet at
a time have the directory, also over crashes: it is handed down to the processes of a
fleet, and is free once the last of them has gone. Both files name a process by its id
and start time, for ids are used again.
"""

import asyncio
import fcntl
import logging
import os
import platform
import secrets
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

from brokerwise.model.errors import BrokerwiseError, InputError

FORMAT = 1
DEFAULT_STATE = Path("out/fleet")
ORPHAN_SECONDS = 15.0  # processes whose fleet was killed have gone by then
_FLEET = "fleet.json"
_SECRET = "secret"
_SECRET_BYTES = 32
_LOCK = "lock"
_LOCK_POLL_SECONDS = 0.05
_STATE, _STARTED = 0, 19  # fields of /proc/PID/stat, counted behind the name
_MACHINE_ID = Path("/etc/machine-id")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FleetFile:
    """How to reach a fleet. All who can read it can do anything to the fleet.

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
        """True if another machine keeps it: this is a copy of its file."""
        return self.machine not in ("", machine())

    @property
    def running(self) -> bool:
        """Of a fleet elsewhere only its coordinator can say that it has ended."""
        return self.is_elsewhere or ProcessId(self.pid, self.started).running


def fleet_path(state: Path) -> Path:
    return state / _FLEET


def read_fleet(state: Path) -> FleetFile:
    """The fleet that runs with this state directory; InputError if none does."""
    fleet = find_fleet(state)
    if fleet is None:
        raise InputError(
            f"no fleet runs here: {state} has no {_FLEET}", hint=_start_hint(state)
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
        raise InputError(
            f"{path} has format {fleet.format}, expected {FORMAT}: another version of "
            "brokerwise wrote it",
            hint="End that fleet with the version that started it; if it runs no more, "
            f"remove {path}.",
        )
    return fleet


def write_fleet(state: Path, fleet: FleetFile) -> None:
    """Put fleet.json in place, for its owner only; readers see all of it or none."""
    content = msgspec.json.format(msgspec.json.encode(fleet)) + b"\n"
    write_private(fleet_path(state), content)


def remove_fleet(state: Path) -> None:
    fleet_path(state).unlink(missing_ok=True)


def state_secret(state: Path) -> bytes:
    """What all keys of this state's fleets are made of. The first one makes it.

    The caller holds the lock of the state directory. Raises InputError for a file
    that is damaged, or that others than its owner can get at.
    """
    path = state / _SECRET
    try:
        mode, content = stat.S_IMODE(path.stat().st_mode), path.read_bytes()
    except FileNotFoundError:
        secret = secrets.token_bytes(_SECRET_BYTES)
        write_private(path, secret.hex().encode() + b"\n")
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


def log_path(state: Path, name: str) -> Path:
    """Where the output of a process goes; a name may hold what no file name may."""
    return state / "logs" / f"{quote(name, safe=' ')}.log"


def remove_logs(state: Path) -> None:
    """Those of an earlier fleet, but for our own, if we were detached."""
    for name in ("*.log", "*.log.1"):
        for path in (state / "logs").glob(name):
            if path.name.partition(".")[0] != "up":
                path.unlink()


def write_private(path: Path, content: bytes) -> None:
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


def machine() -> str:
    """The machine that process ids are of: its name, and its id if it has one."""
    try:
        number = _MACHINE_ID.read_text(errors="replace").strip()
    except OSError:
        number = ""
    return f"{platform.node()} {number}".strip()


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none.

    A process that has ended and was not waited for yet counts as none. Where there
    is no /proc, a process that lives started at 0: its id alone has to do.
    """
    if not Path("/proc/self/stat").exists():
        return 0 if _answers(pid) else None
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name may hold anything
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


@dataclass(frozen=True)
class ProcessId:
    """A process, and no other that comes to have its id."""

    pid: int
    started: int

    @classmethod
    def ours(cls) -> "ProcessId":
        return cls(os.getpid(), start_time(os.getpid()) or 0)

    @property
    def running(self) -> bool:
        return start_time(self.pid) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Signal exactly this process; False if it has gone."""
        if not self.running:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
            return True
        return False


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class FleetRunsError(InputError):
    """A fleet runs with this state directory already."""

    def __init__(self, state: Path, pid: int) -> None:
        self.state, self.pid = state, pid
        super().__init__(
            f"a fleet runs in {state} already (process {pid})",
            hint=f"End it with: brokerwise down --state {state}, "
            "or start another with --state DIR.",
        )


class OrphansError(BrokerwiseError):
    """The fleet was killed, and something of it does not end."""

    def __init__(self, state: Path) -> None:
        self.state = state
        super().__init__(
            f"the fleet of {state} was killed, and a process of it is still there "
            f"after {ORPHAN_SECONDS:g} s",
            hint=f"Find it with: fuser {state / _LOCK}",
        )


@asynccontextmanager
async def hold_lock(state: Path) -> AsyncIterator[int]:
    """The lock of a state directory, as a file descriptor to hand down.

    Raises FleetRunsError if a fleet runs. Waits for the last processes of one that
    was killed, OrphansError if they stay.
    """
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(state / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        killed = last_holder(state)
        await _take(descriptor, state)
        if killed is not None:
            log.warning(
                "took over the lock of %s: process %d, which held it, was killed",
                *(state, killed.pid),
            )
        us = ProcessId.ours()
        _write_holder(descriptor, f"{us.pid} {us.started}\n")
        try:
            yield descriptor
        finally:
            _write_holder(descriptor, "")
    finally:
        os.close(descriptor)


def _write_holder(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


async def _take(descriptor: int, state: Path) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ORPHAN_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = last_holder(state)
            if holder is not None and holder.running:
                raise FleetRunsError(state, holder.pid) from None
            if loop.time() > deadline:
                raise OrphansError(state) from None
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        else:
            return


def last_holder(state: Path) -> ProcessId | None:
    """The process that has the lock, or was killed when it had; None if it was given
    back."""
    try:
        words = (state / _LOCK).read_bytes().split()
    except OSError:
        return None
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return None
    return ProcessId(int(words[0]), int(words[1]))
