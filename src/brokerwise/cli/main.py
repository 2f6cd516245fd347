"""The program `brokerwise`."""

import io
import logging
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version as installed_version
from types import FrameType
from typing import Annotated

import typer

from brokerwise.cli.audit import audit
from brokerwise.cli.channel import channel
from brokerwise.cli.colocate import colocate
from brokerwise.cli.console import print_error, print_result
from brokerwise.cli.dataset import dataset
from brokerwise.cli.down import down
from brokerwise.cli.drain import drain
from brokerwise.cli.feed import feed
from brokerwise.cli.fill import fill
from brokerwise.cli.generate import generate
from brokerwise.cli.ingest import ingest
from brokerwise.cli.join import join
from brokerwise.cli.latency import latency
from brokerwise.cli.moves import moves
from brokerwise.cli.overlay import overlay
from brokerwise.cli.profile import profile
from brokerwise.cli.provision import provision
from brokerwise.cli.publish import publish
from brokerwise.cli.replay import replay
from brokerwise.cli.report import report
from brokerwise.cli.reproduce import reproduce
from brokerwise.cli.restart import restart
from brokerwise.cli.simulate import simulate
from brokerwise.cli.status import status
from brokerwise.cli.subscribe import subscribe
from brokerwise.cli.summarize import summarize
from brokerwise.cli.token import token
from brokerwise.cli.up import up
from brokerwise.cli.view import view
from brokerwise.model.errors import BrokerwiseError, InputError

_ERROR_LINE = re.compile(r"(Caused by: )?[\w.]+(Error|Exception)\b")

EXIT_BAD_INPUT = 2
EXIT_FAILURE = 3
EXIT_INTERRUPTED = 130

_WHEN_INTERRUPTED = {
    "reproduce": "what is complete is kept",
    "latency measure": "what is complete is kept",
    "up": "nothing is left running",
    "view": "the page has gone",
    "join": "the broker has ended",
    "moves": "what has begun goes on: brokerwise moves",
    "drain": "what has begun goes on: brokerwise status",
    "restart": "what has begun goes on: brokerwise status",
    "down": "what has begun goes on: brokerwise status",
    "status": "nothing has changed",
    "replay": "what was published is in the fleet",
    "subscribe": "the session has ended",
    "publish": "what was sent may have arrived",
    "feed": "what was acknowledged is in",
    "dataset": "whether it was done is not known: brokerwise dataset list",
    "channel": "whether it was done is not known: brokerwise channel list",
}

app = typer.Typer(
    name="brokerwise",
    help="Plans, runs and rebalances publish/subscribe fleets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(
    generate, short_help="Make something to try things on: a trace, a network."
)
app.add_typer(reproduce)
app.command(short_help="Make a workload from raw files, on Spark.")(ingest)
app.command(short_help="What a workload looks like.")(profile)
app.command(short_help="The cheapest fleet that satisfies every subscriber.")(provision)
app.command(short_help="The most data that a fixed fleet can deliver.")(fill)
app.command(short_help="The fewest brokers that keep topics in time.")(colocate)
app.command(short_help="Wire users and brokers at least cost.")(overlay)
app.add_typer(
    latency, short_help="Measure, simulate and learn how topics slow each other."
)
app.command(short_help="Make a network from message history, on Spark.")(summarize)
app.add_typer(simulate)
app.command(short_help="Trust nothing, recompute everything that a plan says.")(audit)
app.command(short_help="Write a report again, from its JSON alone.")(report)
app.command(short_help="Show a plan of any kind as a page.")(view)
app.command(short_help="Start a fleet, or run a plan.")(up)
app.command(short_help="How a fleet is: brokers, sessions, load, data.")(status)
app.command(short_help="Balance a fleet: see, try, approve, or automatic.")(moves)
app.command(short_help="Move every session of a broker elsewhere.")(drain)
app.command(short_help="Restart brokers one by one, without loss.")(restart)
app.command(short_help="Add a broker to a fleet.")(join)
app.command(short_help="End a fleet.")(down)
app.command(short_help="Send a plan's period through the fleet, and compare.")(replay)
app.command(short_help="Print the messages of topics or of a channel.")(subscribe)
app.command(short_help="Send messages to the subscribers of a topic.")(publish)
app.command(short_help="Print the token with which a user connects.")(token)
app.add_typer(dataset)
app.add_typer(channel, short_help="Questions that are asked again and again, for all.")
app.command(short_help="Feed records to a dataset, one JSON object a line.")(feed)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_result(f"brokerwise {installed_version('brokerwise')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version.",
        ),
    ] = False,
) -> None:
    """Plans, runs and rebalances publish/subscribe fleets."""


def run(
    arguments: Sequence[str], was_interrupted: Callable[[], bool] = lambda: False
) -> int:
    """Run one command; returns its exit code. What goes wrong after an interruption is
    put down to it: not everything that is interrupted ends in order."""
    debug = "--debug" in arguments
    try:
        code = app(list(arguments), standalone_mode=False) or 0
        if code == EXIT_INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
        return code
    except BrokerwiseError as error:
        error.message = _as_typed(error.message, arguments)
        print_error(error)
        _trace(debug)
        return EXIT_BAD_INPUT if isinstance(error, InputError) else EXIT_FAILURE
    except typer.TyperException as error:
        return _explain_usage(error, arguments)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(arguments)
    except SystemExit:  # typer's answer when whoever read our output has gone
        return EXIT_FAILURE
    except Exception as error:
        if was_interrupted():
            _trace(debug)
            return _interrupted(arguments)
        hint = "" if debug else "Run brokerwise --debug ... to see where."
        print_error(BrokerwiseError(_cause(error), hint=hint))
        _trace(debug)
        return EXIT_FAILURE


def main() -> None:
    """Run the command that the program was called with.

    Being told to end (SIGTERM) is like Ctrl-C: nothing half written stays behind,
    and whatever goes wrong on the way out, it was the interruption.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # letters that it cannot show
            stream.reconfigure(errors="backslashreplace")
    if "--debug" not in sys.argv:  # py4j logs every connection that Ctrl-C breaks
        logging.getLogger().setLevel(logging.CRITICAL)
    code = run(sys.argv[1:], lambda: interrupted)
    sys.exit(EXIT_INTERRUPTED if interrupted else code)


def _interrupted(arguments: Sequence[str]) -> int:
    sys.stderr.write(f"interrupted; {_kept(arguments)}\n")
    return EXIT_INTERRUPTED


def _kept(arguments: Sequence[str]) -> str:
    """What is left of a command that was interrupted."""
    of_group = _WHEN_INTERRUPTED.get(" ".join(arguments[:2]))
    command = "".join(arguments[:1])
    return of_group or _WHEN_INTERRUPTED.get(command, "nothing was written")


def _as_typed(message: str, arguments: Sequence[str]) -> str:
    """A message about a field, as one about the option that it was given with."""
    field, colon, rest = message.partition(": ")
    option = f"--{field.replace('_', '-')}"
    typed = {argument.partition("=")[0] for argument in arguments}
    return f"{option}: {rest}" if colon and option in typed else message


def _explain_usage(error: typer.TyperException, arguments: Sequence[str]) -> int:
    """Say what is wrong with the words of a call; help was asked for by none."""
    text = error.format_message()
    if text.startswith("Usage:"):
        sys.stderr.write(text + "\n")
        return EXIT_BAD_INPUT
    help_ = " ".join(["brokerwise", *_command(app, arguments), "--help"])
    print_error(BrokerwiseError(text, hint=f"Try: {help_}"))
    return EXIT_BAD_INPUT


def _command(program: typer.Typer, arguments: Sequence[str]) -> list[str]:
    """The words of a call that name a command: one, or that of a group and its own."""
    first = "".join(arguments[:1])
    commands = program.registered_commands
    if first in {c.name or getattr(c.callback, "__name__", "") for c in commands}:
        return [first]
    for group in program.registered_groups:
        inner = group.typer_instance
        if inner is not None and inner.info.name == first:
            return [first, *_command(inner, arguments[1:])]
    return []


def _cause(error: Exception) -> str:
    """What went wrong, in a line. Spark quotes the whole traceback of a task, which
    ends with the line that matters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if _ERROR_LINE.match(line)]
    first = causes[-1] if causes else f"{type(error).__name__}: {''.join(lines[:1])}"
    return first.removeprefix("Caused by: ")


def _trace(debug: bool) -> None:
    if debug:
        traceback.print_exc()


if __name__ == "__main__":
    main()
