"""`brokerwise latency measure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.latency_measure_request import (
    OF_DRAWING,
    Drawing,
    Sending,
    drawn_series,
    planned_series,
)
from brokerwise.cli.options import Json, Seed, on_this_disk
from brokerwise.cli.printable import printable
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.runtime.load.series import Series


def measure(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            help="Directory of data; made or gone on in.", callback=on_this_disk
        ),
    ],
    k: Annotated[
        str, typer.Option(help="Topics that share a broker: 1-4, 4, or 1,3.")
    ] = "1-4",
    configurations: Annotated[
        int, typer.Option(help="How many, for each number of topics.")
    ] = 100,
    processing: Annotated[
        str, typer.Option(help="Processing times of topics, in ms.")
    ] = "2.5,5,7.5,10",
    target_ms: Annotated[
        float,
        typer.Option(
            help="Topics that share have at most the publishers that meet this alone."
        ),
    ] = 250.0,
    plan: Annotated[
        str | None,
        typer.Option(help="Measure the brokers of this co-location plan instead."),
    ] = None,
    rate_each: Annotated[
        float, typer.Option(help="Messages a second of one publisher.")
    ] = 4.0,
    messages: Annotated[int, typer.Option(help="That each publisher sends.")] = 80,
    message_bytes: Annotated[str, typer.Option(help="Their size.")] = "4096B",
    longest: Annotated[
        float, typer.Option(help="Seconds after which a configuration is ended.")
    ] = 60.0,
    broker_cores: Annotated[
        str, typer.Option(help="Cores of the broker and its workers: 0, or 0,1.")
    ] = "0",
    seed: Seed = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Measure everything again.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure latencies of topics that share a broker, on real processes.

    Each configuration gets a broker of its own, publishers that send at random times,
    and a subscriber a topic that waits for every message. By default it takes hours;
    the same command goes on where it was interrupted. Leave the machine alone
    meanwhile.

    \b
    Example:
      brokerwise latency measure --k 1-2 --configurations 20 --out out/measured
      brokerwise latency measure --plan out/colocate --out out/observed
    """
    progress = LiveProgress()
    sending = Sending(rate_each, messages, message_bytes, longest, broker_cores, seed)
    series: Series
    if plan is None:
        drawing = Drawing(k, configurations, processing, target_ms)
        series = drawn_series(drawing, sending)
    else:
        _refuse_drawing(context)
        series = planned_series(plan, sending)
    from brokerwise.cli.latency_measure_result import measured
    from brokerwise.show.measurements import measure_text

    result = measured(series, out, progress, force=force)
    if json:
        print_json(result)
    else:
        print_result(printable(measure_text(result)))


def _refuse_drawing(context: typer.Context) -> None:
    """A plan says itself what is on its brokers."""
    for option in context.command.params:
        name = option.name or ""
        given = context.params.get(name) != option.default
        if name in OF_DRAWING and given:
            raise InputError(
                f"found {option.opts[0]} beside --plan, which says that itself"
            )
