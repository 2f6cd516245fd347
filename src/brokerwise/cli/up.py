"""`brokerwise up`."""

import logging
import signal
import time
from typing import TYPE_CHECKING, Annotated, cast

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.log_options import LogFormatOption, LogLevelOption
from brokerwise.cli.options import Conf, Json
from brokerwise.cli.table import many
from brokerwise.cli.tls_options import Authority, Certificate, PrivateKey
from brokerwise.cli.up_request import MOST_BROKERS, UpRequest
from brokerwise.runtime.process.logs import LogFormat, LogLevel, LogSettings, set_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from brokerwise.cli.up_text import FleetUp
    from brokerwise.runtime.protocol.seed import Seed

    Announce = Callable[[FleetUp], None]

log = logging.getLogger(__name__)


def up(
    brokers: Annotated[
        int | None,
        typer.Option(max=MOST_BROKERS, help="How many to start, without a plan (3)."),
    ] = None,
    plan: Annotated[
        str | None, typer.Option(help="Run this plan: its brokers, its placement.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(help="The plan's workload or network, if it is elsewhere now."),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(
            help="Where users go without a plan: nearest, round-robin or random "
            "(round-robin)."
        ),
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(
            help="Where a broker is, X,Y, for nearest; once for each, b0 first."
        ),
    ] = None,
    state: State = DEFAULT_STATE,
    step: Annotated[
        list[str] | None,
        typer.Option(
            help="A processing step, TOPIC=spin:5 or TOPIC=module:function; may be "
            "repeated. gps/* is all topics that begin so."
        ),
    ] = None,
    into: Annotated[
        list[str] | None,
        typer.Option(
            help="Feed what comes out of a topic to a dataset, TOPIC=DATASET; may be "
            "repeated. gps/* is all topics that begin so."
        ),
    ] = None,
    data_cluster: Annotated[
        bool,
        typer.Option(
            "--data-cluster", help="Also datasets and channels, on Spark; data stays."
        ),
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            help="Spark master of the data cluster: local[*] (default), spark://, "
            "yarn, k8s://."
        ),
    ] = None,
    conf: Conf = None,
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    authority: Authority = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="The coordinator's; 0: any free one."),
    ] = 0,
    log_format: LogFormatOption = LogFormat.TEXT,
    log_level: LogLevelOption = LogLevel.INFO,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when ready; the fleet goes on.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a fleet: a coordinator and brokers, on this machine.

    Says when it is ready, starts again what dies, and runs until Ctrl-C (or
    brokerwise down). With --plan it runs an approved plan of any kind, after an
    audit. Tokens of an earlier fleet with the same --state are still good.

    \b
    Examples:
      brokerwise up --brokers 3
      brokerwise up --plan out/plan --detach
      brokerwise up --data-cluster
    """
    began = time.perf_counter()
    request = UpRequest(
        state=state,
        brokers=brokers,
        plan=plan,
        workload=workload,
        placement=placement,
        steps=tuple(step or ()),
        into=tuple(into or ()),
        certificate=certificate,
        private_key=private_key,
        authority=authority,
        host=host,
        port=port,
        data_cluster=data_cluster,
        master=master,
        conf=tuple(conf or ()),
        places=tuple(place or ()),
        log=LogSettings(log_format, log_level),
    )
    request.settings()  # its errors before anything takes time

    def ready(fleet: "FleetUp") -> None:
        if json:
            print_json(fleet.as_json())
        else:
            print_result(fleet.text(detached=detach))

    if detach:
        from brokerwise.cli.detaching import start_detached

        ready(start_detached(request, began))
        return
    _run(request, began, ready)


def _run(request: UpRequest, began: float, ready: "Announce") -> None:
    import asyncio

    from brokerwise.runtime.process.open_files import allow_many_files

    set_up("fleet", request.log)
    allow_many_files()  # three of each process that it keeps
    seed = request.seed()
    data = ", a data cluster" if request.data_cluster else ""
    brokers = many(len(seed.brokers), "broker")
    log.info("starting a coordinator%s and %s ...", data, brokers)
    if asyncio.run(_until_told(request, seed, began, ready)) == signal.SIGINT:
        raise KeyboardInterrupt
    log.info("stopped; nothing is left running")


async def _until_told(
    request: UpRequest, seed: "Seed", began: float, ready: "Announce"
) -> signal.Signals:
    """Run the fleet until a signal comes, which is returned."""
    import asyncio

    from brokerwise.cli.signals import first_of, told_to_end
    from brokerwise.cli.up_text import fleet_up
    from brokerwise.runtime.fleet.supervisor import running_fleet

    async def run() -> None:
        async with running_fleet(
            seed, state=request.state, settings=request.settings()
        ) as fleet:
            ready(await fleet_up(fleet.file, request.state, fleet.pids, began))
            try:
                await asyncio.Event().wait()
            finally:
                log.info("stopping ...")

    with told_to_end() as told:
        return cast(signal.Signals, await first_of(run(), told.get()))
