"""`brokerwise latency`: what topics that share a broker do to each other."""

import typer

from brokerwise.cli.latency_evaluate import evaluate
from brokerwise.cli.latency_measure import measure
from brokerwise.cli.latency_simulate import simulate
from brokerwise.cli.latency_train import train

latency = typer.Typer(
    name="latency",
    help="""Latencies of topics that share a broker: measured, simulated, learned.

    \b
    Example:
      brokerwise latency simulate --out out/simulated
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@latency.callback()
def _group() -> None:
    """Latencies of topics that share a broker: measured, simulated, learned."""


latency.command(short_help="Data of real brokers on this machine.")(measure)
latency.command(short_help="Data of a broker that is only computed.")(simulate)
latency.command(short_help="A model that predicts latencies.")(train)
latency.command(short_help="How well latencies are predicted.")(evaluate)
