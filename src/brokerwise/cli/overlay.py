"""`brokerwise overlay`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Force, Json, Report, Seed
from brokerwise.cli.places import refuse_wrong_places
from brokerwise.cli.printable import printable
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import keep_with_plan

if TYPE_CHECKING:
    from brokerwise.planners.overlay.problem import Options

EXIT_NO = 1


def overlay(
    context: typer.Context,
    network: Annotated[str, typer.Argument(help="A network directory.")],
    algorithm: Annotated[
        str,
        typer.Option(
            help="local, random, greedy, clustering, steiner, steiner_literal or ilp."
        ),
    ] = "local",
    tree: Annotated[
        bool, typer.Option("--tree", help="Join all brokers by one spanning tree.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Stop searching after so many seconds.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(help="Directory to write.")] = "out/overlay",
    force: Force = False,
    report: Report = None,
    json: Json = False,
) -> None:
    """Wire users and brokers at least cost, with a proven bound.

    Chooses the broker that each user connects to, so that links from users to
    brokers (access) and between brokers (core) cost least in all, and no broker
    carries more than it can. The plan is audited before it appears.

    Exits 1 if there is no such wiring, or none was found.

    \b
    Example:
      brokerwise overlay out/network --report out/overlay.html
    """
    from brokerwise.pipeline.progress import deadline

    stop = deadline(seconds)
    progress = LiveProgress()
    refuse_wrong_places(network, out, report, what="network")
    from brokerwise.planners.overlay.problem import Options
    from brokerwise.show.results import is_plan

    options = Options(algorithm, tree, seed, stop)
    job = _Job(network, out, force, report, options, progress)
    result = job.run(command_line(context, "network"))
    if json:
        print_json(result)
    else:
        from brokerwise.show.overlay import overlay_text

        print_result(printable(overlay_text(result, report)))
    if not is_plan(result):
        raise typer.Exit(EXIT_NO)


@dataclass(frozen=True)
class _Job:
    network: str
    out: str
    force: bool
    report: Path | None
    options: "Options"
    progress: LiveProgress

    def run(self, command: str) -> dict[str, Any]:
        """Make the plan, and the report of it; what --json prints."""
        from importlib.metadata import version

        from brokerwise.pipeline.overlay import overlay_directory
        from brokerwise.show.overlay import overlay_result, wired_details
        from brokerwise.storage.place import Place

        place, out = Place(self.network), Place(self.out)
        wired = overlay_directory(
            place, out, self.options, force=self.force, progress=self.progress
        )
        result = {
            **overlay_result(wired, out),
            "network": str(place),
            "network_digest": wired.digest,
            "version": version("brokerwise"),
            "command": command,
            "seconds": {**self.progress.seconds, "total": self.progress.total},
        }
        if wired.header is not None:
            result["details"] = wired_details(wired)
            keep_with_plan(out, result, self.report)
        return result
