"""The program `brokerwise`."""

import sys
import traceback
from collections.abc import Sequence

import typer

from brokerwise.cli.audit import audit
from brokerwise.cli.console import print_error
from brokerwise.cli.generate import generate
from brokerwise.cli.ingest import ingest
from brokerwise.cli.profile import profile
from brokerwise.model.errors import BrokerwiseError, InputError

EXIT_BAD_INPUT = 2
EXIT_FAILURE = 3
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="brokerwise",
    help="Plans, runs and rebalances publish/subscribe fleets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(generate)
app.command()(ingest)
app.command()(profile)
app.command()(audit)


@app.callback()
def options(
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks."),
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code."""
    debug = "--debug" in arguments
    try:
        return app(list(arguments), standalone_mode=False) or 0
    except BrokerwiseError as error:
        print_error(error)
        _trace(debug)
        return EXIT_BAD_INPUT if isinstance(error, InputError) else EXIT_FAILURE
    except typer.Exit as stop:
        return stop.exit_code
    except typer.TyperException as error:
        print_error(
            BrokerwiseError(error.format_message(), hint=f"Try: {_help(arguments)}")
        )
        return EXIT_BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("interrupted; nothing was written\n")
        return EXIT_INTERRUPTED
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else ""
        print_error(
            BrokerwiseError(
                f"{type(error).__name__}: {first}",
                hint="" if debug else "Run again with --debug to see where.",
            )
        )
        _trace(debug)
        return EXIT_FAILURE


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def _help(arguments: Sequence[str]) -> str:
    command = [a for a in arguments[:1] if not a.startswith("-")]
    return " ".join(["brokerwise", *command, "--help"])


def _trace(debug: bool) -> None:
    if debug:
        traceback.print_exc()
