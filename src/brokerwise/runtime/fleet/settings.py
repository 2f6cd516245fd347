"""How a fleet is run, whatever it runs."""

import sys
from dataclasses import dataclass, field

from brokerwise.runtime.fleet.children import START_SECONDS, STOP_SECONDS
from brokerwise.runtime.fleet.restarts import FIRST_SECONDS, MOST_SECONDS


@dataclass(frozen=True)
class Tls:
    """PEM files. `authority` is what the certificate is checked against; empty:
    whatever the machine trusts."""

    certificate: str = ""
    private_key: str = ""
    authority: str = ""


@dataclass(frozen=True)
class Settings:
    """`port` is the coordinator's, 0 for any that is free; the brokers take free
    ones. `coordinator` and `broker` are the commands that start them."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: Tls = field(default_factory=Tls)
    coordinator: tuple[str, ...] = (
        sys.executable,
        "-m",
        "brokerwise.runtime.coordinator",
    )
    broker: tuple[str, ...] = (sys.executable, "-m", "brokerwise.runtime.broker")
    start_seconds: float = START_SECONDS
    stop_seconds: float = STOP_SECONDS
    first_pause: float = FIRST_SECONDS
    longest_pause: float = MOST_SECONDS
