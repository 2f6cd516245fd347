"""`brokerwise up --detach`: the fleet goes on when the command has returned."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import typer

from brokerwise.cli.up_request import UpRequest
from brokerwise.cli.up_text import FleetUp, fleet_up
from brokerwise.runtime.fleet.files import (
    FleetFile,
    FleetRunsError,
    find_fleet,
    log_path,
)

_POLL_SECONDS = 0.05


def start_detached(request: UpRequest, began: float) -> FleetUp:
    """A fleet in a session of its own, once it is ready.

    If it does not come up, what it said goes to stderr, and its exit code is ours.
    """
    fleet = find_fleet(request.state)
    if fleet is not None and fleet.running and not fleet.is_elsewhere:
        raise FleetRunsError(request.state, fleet.pid)
    log = log_path(request.state, "up")
    log.parent.mkdir(parents=True, exist_ok=True)
    before = log.stat().st_size if log.exists() else 0
    pid = _spawn(request, log)
    try:
        file = _ready(pid, request.state)
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    if isinstance(file, int):
        sys.stderr.write(_said(log, before))
        raise typer.Exit(file)
    return asyncio.run(_fleet_up(file, request.state, began))


def _spawn(request: UpRequest, log: Path) -> int:
    """What it logs goes to a file; it has no input and no terminal. What it prints
    has a token in it, and is printed by us."""
    words = [sys.executable, "-m", "brokerwise.cli.main", *request.arguments()]
    opened = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        sys.executable,
        words,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, log, opened, 0o600),
        ],
        setsid=True,
    )


def _ready(pid: int, state: Path) -> FleetFile | int:
    """Its file, once the fleet is ready; its exit code if it ended before."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        file = find_fleet(state)
        if file is not None and file.pid == pid:
            return file
        time.sleep(_POLL_SECONDS)


async def _fleet_up(file: FleetFile, state: Path, began: float) -> FleetUp:
    from brokerwise.runtime.fleet.operator import Operator

    status = await Operator(file).status()
    brokers = {broker.broker: broker.pid for broker in status.brokers}
    return await fleet_up(file, state, brokers, began)


def _said(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")
