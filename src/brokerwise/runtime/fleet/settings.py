"""How a fleet is run, whatever it runs."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from brokerwise.runtime.fleet.children import (
    FIRST_SECONDS,
    MOST_SECONDS,
    START_SECONDS,
    STOP_SECONDS,
)
from brokerwise.runtime.net.tls import check_tls
from brokerwise.runtime.process.logs import LogSettings


@dataclass(frozen=True)
class Tls:
    """PEM files. `authority` is what the certificate is checked against; empty:
    whatever the machine trusts."""

    certificate: str = ""
    private_key: str = ""
    authority: str = ""

    def check(self, host: str) -> None:
        """Raises InputError if they cannot be used on this host."""
        check_tls(self.certificate, self.private_key, self.authority, host)


@dataclass(frozen=True)
class DataClusterSettings:
    """How datasets and channels are kept and run.

    Attributes
    ----------
    master, conf
        Of its Spark session; empty: this machine, all its cores.
    directory
        Where its data is, which stays when the fleet ends; None: `data` in the
        fleet's state directory.
    command
        What starts it.
    stop_seconds
        It has Spark to end, and gets more time than others.
    """

    master: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    command: tuple[str, ...] = (
        sys.executable,
        "-m",
        "brokerwise.runtime.data_cluster",
    )
    stop_seconds: float = 10.0

    def place(self, state: Path) -> Path:
        """Absolute: where the data of the fleet of a state directory is."""
        return (self.directory or state / "data").resolve()


@dataclass(frozen=True)
class Settings:
    """`port` is the coordinator's, 0 for any that is free; the others take free
    ones. `coordinator` and `broker` are the commands that start them, `cores` and
    `broker_cores` what they run on; empty: all there are. With `broker_nice` below 0
    brokers go before others, where that is allowed. Without `data_cluster` there are
    no datasets and no channels; without `step_limit` any number of messages may wait
    for a processing step. `log` is how all of them say what happens."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: Tls = field(default_factory=Tls)
    coordinator: tuple[str, ...] = (
        sys.executable,
        "-m",
        "brokerwise.runtime.coordinator",
    )
    broker: tuple[str, ...] = (sys.executable, "-m", "brokerwise.runtime.broker")
    data_cluster: DataClusterSettings | None = None
    start_seconds: float = START_SECONDS
    stop_seconds: float = STOP_SECONDS
    first_pause: float = FIRST_SECONDS
    longest_pause: float = MOST_SECONDS
    cores: tuple[int, ...] = ()
    broker_cores: tuple[int, ...] = ()
    broker_nice: int = 0
    step_limit: bool = True
    log: LogSettings = field(default_factory=LogSettings)
