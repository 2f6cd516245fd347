"""`brokerwise generate network`."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Force, Json, Out, Seed

if TYPE_CHECKING:
    from brokerwise.storage.network import NetworkHeader


def network(
    users: Annotated[int, typer.Option(help="Number of users.")],
    brokers: Annotated[int, typer.Option(help="Number of brokers.")],
    out: Out,
    subchannels: Annotated[
        int, typer.Option(help="Intervals that each content dimension is cut into.")
    ] = 100,
    dimensions: Annotated[int, typer.Option(help="Content dimensions.")] = 1,
    costs: Annotated[
        str,
        typer.Option(
            help="plane: links cost their length; independent: access costs are "
            "uniform, with the same mean."
        ),
    ] = "plane",
    ratio: Annotated[
        float,
        typer.Option(help="Mean cost of an access link over that of a core link."),
    ] = 1.0,
    width: Annotated[
        float,
        typer.Option(
            help="The widest subscription as a share of a dimension; 1: any interval."
        ),
    ] = 1.0,
    capacity_factor: Annotated[
        float,
        typer.Option(help="All capacities over what users send and receive in all."),
    ] = 2.0,
    known: Annotated[
        int | None,
        typer.Option(help="How many brokers, at random, a user knows. Default: all."),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            help="A matrix of latencies (CSV): users and brokers are at its sites."
        ),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """A network of users and brokers: the random instances of Zhao and Wu.

    Each user publishes after a random quadratic density and wants a random interval
    of each content dimension; brokers have equal capacities.

    \b
    Example:
      brokerwise generate network --users 1000 --brokers 10 --seed 1 --out out/network
    """
    from brokerwise.pipeline.networks.files import read_latency
    from brokerwise.pipeline.networks.generate import NetworkSettings, generate
    from brokerwise.storage.network import write_network
    from brokerwise.storage.place import Place

    progress = LiveProgress()
    matrix = read_latency(Place(latency)).costs if latency else None
    settings = NetworkSettings(
        users=users,
        brokers=brokers,
        subchannels=subchannels,
        dimensions=dimensions,
        costs=costs,
        ratio=ratio,
        width=width,
        capacity_factor=capacity_factor,
        known=known,
        latency=matrix,
    )
    with progress.stage("generate"):
        made = generate(settings, seed)
    with progress.stage("write"):
        header = write_network(
            made,
            Place(out),
            force=force,
            made_from={
                "command": "generate network",
                **settings.as_json(),
                "latency": latency,
                "seed": seed,
            },
        )
    _print(header, out, progress, json)


def _print(
    header: "NetworkHeader", out: str, progress: LiveProgress, json: bool
) -> None:
    total = progress.total
    if json:
        counts = ("users", "brokers", "subchannels", "rates", "interests", "digest")
        result: dict[str, Any] = {key: getattr(header, key) for key in counts}
        seconds = {**progress.seconds, "session": 0.0, "total": total}
        print_json({"status": "done", **result, "out": out, "seconds": seconds})
        return
    print_result(
        f"Network in {out}: {header.users:,} users, {header.brokers:,} brokers, "
        f"{header.subchannels:,} sub-channels, {header.rates:,} rates, "
        f"{header.interests:,} interests; {total:.1f} s."
    )
    print_result(f"Next: {shlex.join(['brokerwise', 'overlay', out])}")
