"""`brokerwise generate`."""

import typer

generate = typer.Typer(name="generate", help="Placeholder.", no_args_is_help=True)


@generate.command()
def uniform() -> None:
    """Placeholder."""


@generate.command()
def spotify() -> None:
    """Placeholder."""
