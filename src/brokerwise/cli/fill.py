"""`brokerwise fill`."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.fill_request import FleetRequest, Request
from brokerwise.cli.options import Force, Json, Report, Seed
from brokerwise.cli.printable import printable
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import keep_with_plan

if TYPE_CHECKING:
    from brokerwise.planners.fill.problem import Options


def fill(
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="A workload directory.")],
    brokers: Annotated[
        str | None,
        typer.Option(
            help="COUNTxSIZE[,COUNTxSIZE]; a size is messages per period, or 64Mbit/s."
        ),
    ] = None,
    total_bandwidth: Annotated[
        str | None,
        typer.Option(help="Or the bandwidth of all brokers, to be split over them."),
    ] = None,
    max_broker: Annotated[
        str | None, typer.Option(help="The largest broker that it may be split into.")
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help="columns, greedy, mkp or ilp.")
    ] = "columns",
    bound: Annotated[
        str, typer.Option(help="certified, or paper: takes no time and says little.")
    ] = "certified",
    topic_weights: Annotated[
        str | None,
        typer.Option(help="How much topics count: CSV topic,weight; others count 1."),
    ] = None,
    subscriber_weights: Annotated[
        str | None,
        typer.Option(help="How much subscribers count: CSV subscriber,weight."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop searching after so many seconds.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(help="Directory to write.")] = "out/fill",
    force: Force = False,
    report: Report = None,
    json: Json = False,
) -> None:
    """The most data that a fixed fleet can deliver, with a proven bound.

    Chooses which pairs are served and on which brokers, so that the data delivered
    is most, or its weighted sum. The plan is audited before it appears. Topics that
    fit on no broker are left out, with a warning.

    \b
    Example:
      brokerwise fill out/workload --brokers 10x500
    """
    from brokerwise.pipeline.progress import deadline

    stop = deadline(seconds)
    progress = LiveProgress()
    request = Request(
        workload=workload,
        fleet=FleetRequest(brokers, total_bandwidth, max_broker),
        topic_weights=topic_weights,
        subscriber_weights=subscriber_weights,
        out=out,
        force=force,
        report=report,
    )
    from brokerwise.planners.fill.problem import Options

    options = Options(algorithm, bound, seed, stop)
    result = _Job(request, options, progress).run(command_line(context))
    for warning in result["warnings"]:
        sys.stderr.write(printable(f"warning: {warning}\n"))
    if json:
        print_json(result)
    else:
        from brokerwise.show.fill import fill_text

        print_result(printable(fill_text(result, report)))


@dataclass(frozen=True)
class _Job:
    request: Request
    options: "Options"
    progress: LiveProgress

    def run(self, command: str) -> dict[str, Any]:
        """Make the plan, and the report of it; what --json prints."""
        from importlib.metadata import version

        from brokerwise.pipeline.fill import fill_directory
        from brokerwise.show.fill import fill_details, fill_result
        from brokerwise.storage.place import Place
        from brokerwise.storage.workload import read_header

        request, progress = self.request, self.progress
        place, out = Place(request.workload), Place(request.out)
        header = read_header(place)
        fleet = request.fleet.fleet(header)
        filled = fill_directory(
            place,
            fleet,
            out,
            self.options,
            weights=request.weight_files(),
            force=request.force,
            progress=progress,
        )
        seconds = {**progress.seconds, "total": progress.total}
        result = {
            **fill_result(filled, fleet, out, self.options.stop),
            "details": fill_details(
                filled.plan, filled.workload.rates, filled.workload.followers()
            ),
            "workload": str(place),
            "workload_digest": header.digest,
            "version": version("brokerwise"),
            "command": command,
            "seconds": seconds,
        }
        keep_with_plan(out, result, request.report)
        return result
