"""How a process of the fleet begins and ends, from its own side and its parent's.

It is started with one JSON line on its standard input, a `Launch`. Keys are in it,
which a command line would show to everyone on the machine. It says that it can be used
with one line on its standard output, `Ready`. When its standard input ends, its parent
has gone, and it stops.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.process.logs import LogSettings, set_up
from brokerwise.runtime.protocol.tokens import Keys

SEED_FILE = "seed.json"  # of the state directory: what a new coordinator begins with
EXIT_FAILURE = 3
EXIT_RESTART = 75  # start me again: the end of a rolling restart's turn
_AUTOGROUP = "/proc/self/autogroup"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Launch:
    """What a process is to be.

    Attributes
    ----------
    run
        Tells one start of the fleet from another: keys stay the same, numbers begin
        again.
    coordinator, data_cluster
        Where a broker, and the coordinator, finds them; empty without one.
    state
        The directory of the coordinator, or of the data cluster. A coordinator that
        finds a SEED_FILE there begins with that, and takes it away.
    certificate, private_key, authority
        PEM files; empty without TLS.
    master, conf
        Of the data cluster's Spark session; empty: this machine, all its cores.
    cores
        What the process, and whatever it starts, may run on; empty: all there are.
    nice
        Below 0 it goes before other processes, where that is allowed.
    step_limit
        True if a broker limits what waits for a processing step; not where latencies
        are measured, where a backlog has to count.
    log
        How it says what happens, on its standard error.
    """

    name: str
    host: str
    port: int
    keys: dict[str, str]
    run: str = ""
    coordinator: str = ""
    state: str = ""
    certificate: str = ""
    private_key: str = ""
    authority: str = ""
    data_cluster: str = ""
    master: str = ""
    conf: dict[str, str] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    nice: int = 0
    step_limit: bool = True
    log: LogSettings = field(default_factory=LogSettings)

    def signing(self) -> Keys:
        return Keys.from_json(self.keys)


@dataclass(frozen=True)
class Ready:
    """The line that a process prints, as JSON, once it can be used."""

    name: str
    url: str
    pid: int


def run_process(work: Callable[[Launch], int]) -> int:
    """Do what the launch says; the exit code of that, or 3 after a failure.

    Whatever it ends with, its log says why: also an unexpected error, or a crash
    of the interpreter.
    """
    faulthandler.enable()
    set_up(_program_name(), LogSettings())  # for a launch that cannot be read
    try:
        launch = read_launch()
        set_up(launch.name, launch.log)
        return work(launch)
    except (BrokerwiseError, OSError) as error:
        log.error("error: %s", _one_line(error))
        return EXIT_FAILURE


def read_launch() -> Launch:
    """The line on standard input that says what to be, and on which cores."""
    line = sys.stdin.buffer.readline()
    try:
        launch = msgspec.json.decode(line, type=Launch)
    except msgspec.DecodeError as cause:
        raise BrokerwiseError(
            f"standard input: found {line[:40]!r}, expected a line of JSON that says "
            f"what to start: {cause}",
            hint="This program is started by: brokerwise up",
        ) from cause
    set_scheduling(launch.cores, launch.nice)
    return launch


def set_scheduling(cores: Collection[int], nice: int) -> bool:
    """Run on these cores only, if any are given, and at this niceness; False if that
    is not allowed. Child processes inherit both.

    To be called before there are threads, which would keep theirs.
    """
    if cores:
        os.sched_setaffinity(0, cores)
    if not nice:
        return True
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        # Linux may share out time by session first, and by process only within one.
        if os.path.exists(_AUTOGROUP) and os.getsid(0) == os.getpid():
            with open(_AUTOGROUP, "w") as file:
                file.write(str(nice))
    except OSError:
        return False
    return True


def announce(name: str, url: str) -> None:
    """Say on standard output that the process can be used."""
    line = msgspec.json.encode(Ready(name, url, os.getpid()))
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def stop_requested() -> asyncio.Event:
    """Set on SIGTERM, on SIGINT, and when standard input ends: the parent process has
    gone."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, event.set)

    def watch() -> None:
        # Not through sys.stdin: Python aborts when it ends while a thread reads it.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        try:
            loop.call_soon_threadsafe(event.set)
        except RuntimeError:  # the loop has ended before
            return

    threading.Thread(target=watch, name="standard input", daemon=True).start()
    return event


def _program_name() -> str:
    """Before it is known which one this is: broker, coordinator, data_cluster."""
    return os.path.basename(os.path.dirname(sys.argv[0])) or "process"


def _one_line(error: Exception) -> str:
    """In one line, which is all that is shown of a process that did not come up."""
    if not isinstance(error, BrokerwiseError):
        return str(error)
    return "; ".join(filter(None, (error.message, *error.details, error.hint)))
