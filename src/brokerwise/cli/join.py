"""`brokerwise join`."""

import asyncio
import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State, check_host, progress
from brokerwise.cli.log_options import LogFormatOption, LogLevelOption
from brokerwise.cli.options import Json
from brokerwise.cli.printable import printable
from brokerwise.cli.signals import Told, first_of, told_to_end
from brokerwise.cli.tls_options import Authority, Certificate, PrivateKey, tls_of
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.process.logs import LogFormat, LogLevel, LogSettings, set_up

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.fleet.settings import Tls
    from brokerwise.runtime.process.launch import Ready


def join(
    name: Annotated[
        str, typer.Option(help="Of the broker; without one the next of b0, b1, ...")
    ] = "",
    state: State = DEFAULT_STATE,
    host: Annotated[
        str, typer.Option(help="Where it listens; where the fleet does.")
    ] = "",
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    authority: Authority = None,
    log_format: LogFormatOption = LogFormat.TEXT,
    log_level: LogLevelOption = LogLevel.INFO,
    json: Json = False,
) -> None:
    """Add a broker to a fleet, until Ctrl-C, which moves its sessions away first.

    A second Ctrl-C ends it at once. On another machine than the fleet's, --state has a
    copy of the fleet's fleet.json, and --host is an address of this machine; if the
    fleet speaks TLS, the certificate is one for that address.

    \b
    Examples:
      brokerwise join
      brokerwise join --state fleet --host 10.0.0.6
    """
    from brokerwise.runtime.fleet.files import read_fleet

    fleet = read_fleet(state)
    if host:
        check_host(host)
    if certificate or private_key or authority:
        fleet = _with_tls(fleet, tls_of(certificate, private_key, authority))
    log_settings = LogSettings(log_format, log_level)
    set_up("fleet", log_settings)
    stay = _Stay(fleet, state, name, host, log_settings, json)
    if asyncio.run(stay.until_told()) == signal.SIGINT:
        raise KeyboardInterrupt
    progress("stopped; nothing is left running")


def _with_tls(fleet: "FleetFile", tls: "Tls") -> "FleetFile":
    """The same fleet, as whoever has these files speaks to it."""
    if not fleet.certificate:
        raise InputError("--certificate: the fleet does not speak TLS")
    return replace(fleet, **asdict(tls))


class _Stay:
    """A broker's time in a fleet."""

    def __init__(
        self,
        fleet: "FleetFile",
        state: Path,
        name: str,
        host: str,
        log_settings: LogSettings,
        json: bool,
    ) -> None:
        self._fleet, self._state, self._json = fleet, state, json
        self._log = log_settings
        self._name, self._host = name, host
        self._up = False
        self._leaving: asyncio.Queue[signal.Signals] = asyncio.Queue()

    async def until_told(self) -> signal.Signals | None:
        """The signal that ended it; None if its broker or the fleet ended before."""
        with told_to_end() as told:
            number = await first_of(self._run(), self._listen(told))
        return cast("signal.Signals | None", number)

    async def _listen(self, told: Told) -> signal.Signals:
        """Returns when it has to end at once: a second signal, or before it is up."""
        number = await told.get()
        if self._up:
            self._leaving.put_nowait(number)
            await told.get()
        return number

    async def _run(self) -> signal.Signals | None:
        from brokerwise.runtime.fleet.joining import (
            fleet_ended,
            joined_broker,
            joining_settings,
        )

        settings = replace(joining_settings(self._fleet, self._host), log=self._log)
        async with joined_broker(self._fleet, self._state, settings, self._name) as (
            broker,
            keeper,
        ):
            self._up = True
            self._announce(broker)
            over = keeper.over(), fleet_ended(self._fleet)
            number = await first_of(*over, self._leaving.get())
            if number is not None:
                await first_of(self._leave(broker.name), fleet_ended(self._fleet))
        return cast("signal.Signals | None", number)

    def _announce(self, broker: "Ready") -> None:
        if self._json:
            about = {"broker": broker.name, "url": broker.url, "pid": broker.pid}
            print_json({"status": "ready", **about})
            return
        print_result(
            printable(
                f"ready: broker {broker.name} has joined the fleet of {self._state} "
                f"({broker.url})\nEnd: Ctrl-C, and its sessions move away first"
            )
        )

    async def _leave(self, broker: str) -> None:
        """Drain it; if that cannot be done it ends as it is, and clients are told."""
        from brokerwise.runtime.fleet.operator import Operator, drain_broker

        progress("moving its sessions away; Ctrl-C again ends it at once")
        try:
            await drain_broker(Operator(self._fleet), broker, stop=True, tell=progress)
        except BrokerwiseError as error:
            progress(f"{broker} cannot be drained: {error.message}")
