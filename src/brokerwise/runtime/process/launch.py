"""How a process of the fleet is started: one JSON line on its standard input.

Keys are in it, which a command line would show to everyone on the machine. When
the standard input ends, whoever started the process has gone, and it stops.
"""

from dataclasses import dataclass, field

from brokerwise.runtime.process.logs import LogSettings
from brokerwise.runtime.protocol.tokens import Keys

EXIT_RESTART = 75  # start me again: the end of a rolling restart's turn


@dataclass(frozen=True)
class Launch:
    """What a process is to be.

    Attributes
    ----------
    run
        Tells one start of the fleet from another: its numbers begin anew, its keys do
        not.
    coordinator, data_cluster
        Where a broker, and the coordinator, finds them; empty without one.
    state
        The directory of the coordinator, or of the data cluster.
    certificate, private_key, authority
        PEM files; empty without TLS.
    master, conf
        Of the data cluster's Spark session; empty: this machine, all its cores.
    cores
        What the process, and whatever it starts, may run on; empty: all there are.
    nice
        Below 0 it goes before other processes, where that is allowed.
    step_limit
        Whether a broker bounds what waits for a processing step, as it should; not
        where latencies are measured, in which a backlog has to count.
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
