"""`brokerwise latency simulate`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.latency_ranges import parse_numbers, parse_topics
from brokerwise.cli.options import Force, Json, Out, Seed
from brokerwise.cli.printable import printable
from brokerwise.show.measurements import simulation_text

if TYPE_CHECKING:
    from brokerwise.pipeline.latency_simulation import SimulationResult


def simulate(
    out: Out,
    k: Annotated[
        str, typer.Option(help="Topics that share a broker: 1-6, 4, or 1,3.")
    ] = "1-6",
    configurations: Annotated[
        int, typer.Option(help="How many, for each number of topics.")
    ] = 1000,
    processing: Annotated[
        str, typer.Option(help="Processing times of topics, in ms.")
    ] = "2.5,5,7.5,10",
    draw: Annotated[
        str,
        typer.Option(
            help="paper: topics are drawn one by one; loaded: the broker's load is "
            "drawn; mixed: both in turn."
        ),
    ] = "mixed",
    rate_each: Annotated[
        float, typer.Option(help="Messages a second of one publisher.")
    ] = 4.0,
    messages: Annotated[int, typer.Option(help="That each publisher sends.")] = 80,
    cores: Annotated[int, typer.Option(help="Of the broker.")] = 1,
    target_ms: Annotated[
        float,
        typer.Option(
            help="In the paper's way no topic has more publishers than meet this alone."
        ),
    ] = 250.0,
    longest: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which a configuration is ended. Default: never."
        ),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(help="Measured data: find out what messages cost from them."),
    ] = None,
    overhead: Annotated[
        str,
        typer.Option(
            help="What messages cost beside processing, such as "
            "receive_ms=0.2,factor=1.1. With --calibrate: where to begin."
        ),
    ] = "",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Latency data of a broker that is only computed: thousands of configurations in
    seconds.

    Topics have a worker each, workers share the broker's cores, and the broker itself
    needs some of them for every message.

    \b
    Example:
      brokerwise latency simulate --calibrate out/measured --out out/simulated
    """
    from brokerwise.latency.design import Design
    from brokerwise.latency.queueing import Overhead, Run
    from brokerwise.pipeline.latency_simulation import (
        calibrate_directory,
        simulate_directory,
    )
    from brokerwise.storage.place import Place

    progress = LiveProgress()
    design = Design(
        parse_topics(k, "--k"),
        configurations,
        parse_numbers(processing, "--processing"),
        way=draw,
        target_ms=target_ms,
        seed=seed,
    )
    ends = float("inf") if longest is None else longest
    run = Run(rate_each, messages, cores, Overhead.parse(overhead), seed, ends)
    calibrated = None
    if calibrate is not None:
        calibrated = calibrate_directory(
            Place(calibrate), start=run.overhead, progress=progress
        )
        run = replace(run, overhead=calibrated.found.overhead)
    made = simulate_directory(
        Place(out), design, run, calibrated=calibrated, force=force, progress=progress
    )
    result = _result(made, out, progress)
    if json:
        print_json(result)
    else:
        print_result(printable(simulation_text(result)))


def _result(
    made: "SimulationResult", out: str, progress: LiveProgress
) -> dict[str, Any]:
    header = made.header
    return {
        "status": "done",
        "configurations": dict(header.configurations),
        "rows": header.rows,
        "simulating_seconds": header.seconds,
        "settings": dict(header.settings),
        "digest": header.digest,
        "out": out,
        "seconds": {**progress.seconds, "session": 0.0, "total": progress.total},
    }
