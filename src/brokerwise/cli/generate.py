"""`brokerwise generate`."""

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.generate_network import network
from brokerwise.cli.options import Conf, Force, Json, Master, Out, Seed, parse_conf

generate = typer.Typer(
    name="generate",
    help="""Make something to try things on: a trace for ingest, or a network.

    \b
    Example:
      brokerwise generate spotify --scale 0.01 --seed 1 --out out/spotify
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)

generate.command(short_help="Users and brokers, for overlay.")(network)

Scale = Annotated[
    float,
    typer.Option(
        help="Multiplies topics, subscribers and pairs: 1 is the size published."
    ),
]


@generate.command(short_help="Like Spotify: most follow one or two.")
def spotify(
    scale: Scale,
    out: Out,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """A trace of Spotify's size: most subscribers follow one or two topics.

    Scale 1 has 1.1 million topics, 4.9 million subscribers and 12 million pairs.

    \b
    Example:
      brokerwise generate spotify --scale 0.01 --seed 1 --out out/spotify
    """
    _generate_shape("spotify", scale, out, seed, force, json, master, conf)


@generate.command(short_help="Like Twitter: celebrities, bots.")
def twitter(
    scale: Scale,
    out: Out,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """A trace of Twitter's shape: celebrities, bots, and long lists of followings.

    Scale 1 has 8 million topics, 30 million subscribers and 683.5 million pairs,
    and takes 13 GB of disk.

    \b
    Example:
      brokerwise generate twitter --scale 0.01 --seed 1 --out out/twitter
    """
    _generate_shape("twitter", scale, out, seed, force, json, master, conf)


@generate.command(short_help="All topics equally likely.")
def uniform(
    topics: Annotated[int, typer.Option(help="Number of topics.")],
    subscribers: Annotated[int, typer.Option(help="Number of subscribers.")],
    each: Annotated[int, typer.Option(help="Topics that each subscriber wants.")],
    rates: Annotated[str, typer.Option(help="Rate of every topic, or a range: 8-19.")],
    out: Out,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """A trace without a shape: all topics and all rates are equally likely.

    \b
    Example:
      brokerwise generate uniform --topics 100 --subscribers 100 --each 5 \\
        --rates 8-19 --seed 1 --out out/uniform
    """
    from brokerwise.pipeline.trace import RateRange, Uniform, generate_uniform
    from brokerwise.storage.place import Place

    progress = LiveProgress()
    trace = Uniform(topics, subscribers, each, RateRange.parse(rates))
    header = generate_uniform(trace, seed, Place(out), progress=progress, force=force)
    progress.seconds["session"] = 0.0  # none was needed
    _print("Uniform trace", header, out, progress, json)


def _generate_shape(
    name: str,
    scale: float,
    out: str,
    seed: int,
    force: bool,
    json: bool,
    master: str | None,
    conf: list[str] | None,
) -> None:
    from brokerwise.pipeline.shapes import SHAPES, Size

    size = Size(SHAPES[name], scale)
    settings = parse_conf(conf)

    from brokerwise.pipeline.generate import generate_trace
    from brokerwise.storage.place import Place

    progress = LiveProgress()
    header = generate_trace(
        size,
        seed,
        Place(out),
        session=lambda: progress.session(master, settings),
        progress=progress,
        force=force,
    )
    _print(f"{name.capitalize()}-like trace", header, out, progress, json)


def _print(
    what: str,
    header: Mapping[str, Any],
    out: str,
    progress: LiveProgress,
    json: bool,
) -> None:
    counts = {key: header[key] for key in ("topics", "subscribers", "pairs", "events")}
    total = progress.total
    if json:
        seconds = {**progress.seconds, "total": total}
        print_json({**counts, "out": out, "seconds": seconds})
        return
    numbers = ", ".join(f"{count:,} {key}" for key, count in counts.items())
    directory = out.rstrip("/")
    command = ["brokerwise", "ingest", "--pairs", f"{directory}/pairs"]
    command += ["--rates", f"{directory}/rates", "--out", f"{directory}-workload"]
    print_result(f"{what} in {out}: {numbers}; {total:.1f} s.")
    print_result(f"Next: {shlex.join(command)}")
