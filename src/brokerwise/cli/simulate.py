"""`brokerwise simulate`."""

from pathlib import Path
from typing import Annotated

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Json, Report, Seed, on_this_disk
from brokerwise.cli.printable import printable
from brokerwise.cli.repeating import command_line
from brokerwise.cli.simulate_request import Balancing, Request, Surroundings

simulate = typer.Typer(
    name="simulate",
    help="""Try things on a fleet that is only computed.

    \b
    Example:
      brokerwise simulate balance --policy planned --placement nearest
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@simulate.callback()
def _group() -> None:
    """Try things on a fleet that is only computed."""


@simulate.command(short_help="How even loads stay, for how many moves.")
def balance(
    context: typer.Context,
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario of the emergency city. Default: the simulation of "
            "Nguyen et al.",
            callback=on_this_disk,
        ),
    ] = None,
    brokers: Annotated[int, typer.Option(help="Number of brokers.")] = 10,
    subscribers: Annotated[
        int | None, typer.Option(help="Number of subscribers. Default: 10,000.")
    ] = None,
    topics: Annotated[
        int | None, typer.Option(help="Number of topics. Default: 1,000.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="How long it runs. Default: 30 minutes.")
    ] = None,
    placement: Annotated[
        str,
        typer.Option(help="Where users first go: nearest, round-robin or random."),
    ] = "nearest",
    policy: Annotated[
        str,
        typer.Option(help="none, ldm, sdm, gsh, ldm+gsh, sdm+gsh or planned."),
    ] = "planned",
    alpha: Annotated[
        float, typer.Option(help="Sessions move only while cov is above this,")
    ] = 0.1,
    beta: Annotated[
        str, typer.Option(help="and the mean load above this, such as 300MB/s.")
    ] = "0",
    gamma: Annotated[
        float, typer.Option(help="All are shuffled (gsh) if cov is above this,")
    ] = 0.5,
    theta: Annotated[str, typer.Option(help="and the mean load above this.")] = "0",
    max_moves: Annotated[
        int | None, typer.Option(help="The most that one decision may move.")
    ] = None,
    hourly_moves: Annotated[
        int | None, typer.Option(help="The most that may move within an hour.")
    ] = None,
    hot_only: Annotated[
        str | None,
        typer.Option(help="Relieve only brokers so far above the mean: 20%."),
    ] = None,
    report_seconds: Annotated[
        float, typer.Option(help="Between two reports of all loads.")
    ] = 10.0,
    delay: Annotated[
        int, typer.Option(help="How many reports late the balancer hears of one.")
    ] = 0,
    noise: Annotated[
        str, typer.Option(help="How wrong reported rates are, on average: 20%.")
    ] = "0%",
    window: Annotated[
        float, typer.Option(help="Seconds that a moved session stays at least.")
    ] = 300.0,
    confirm: Annotated[
        int, typer.Option(help="Reports in a row that must call for moves.")
    ] = 2,
    seed: Seed = 0,
    report: Report = None,
    json: Json = False,
) -> None:
    """How even the loads of a fleet stay over time, and how many moves that takes.

    Everyone logs in at the start and subscribes in the first minutes, rates rise and
    fall: the simulation of Nguyen et al. (DEBS 2019), or a scenario file. It is run
    with the balancer that a live fleet has, and once more without.

    \b
    Example:
      brokerwise simulate balance --policy ldm --alpha 0.15 --beta 300MB/s
    """
    progress = LiveProgress()
    request = Request(
        Surroundings(scenario, brokers, subscribers, topics, minutes, seed),
        Balancing(
            policy,
            alpha,
            beta,
            gamma,
            theta,
            max_moves=max_moves,
            hourly_moves=hourly_moves,
            hot_only=hot_only,
            window=window,
            confirm=confirm,
        ),
        placement=placement,
        report_seconds=report_seconds,
        delay=delay,
        noise=noise,
        seed=seed,
        report=report,
    )
    from brokerwise.cli.simulate_result import simulate_result

    result = simulate_result(request, command_line(context, "scenario"), progress)
    if json:
        print_json(result)
    else:
        from brokerwise.show.balance import balance_text

        print_result(printable(balance_text(result, report)))
