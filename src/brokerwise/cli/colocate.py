"""`brokerwise colocate`."""

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
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.pipeline.colocate import Request
    from brokerwise.planners.colocate.problem import Options

EXIT_NO = 1


def colocate(
    context: typer.Context,
    topics: Annotated[
        str,
        typer.Argument(
            metavar="TOPICS.csv|WORKLOAD",
            help="CSV topic,processing_ms,rate_per_second[,target_ms], or a workload "
            "whose topics have processing_ms.",
        ),
    ],
    model: Annotated[str, typer.Option(help="A latency model: brokerwise latency.")],
    k: Annotated[int, typer.Option("--k", help="Most topics on one broker.")],
    target_ms: Annotated[
        float | None,
        typer.Option(help="p90 in ms that topics without a target must stay below."),
    ] = None,
    margin: Annotated[
        str, typer.Option(help="How far below, as a share of the target.")
    ] = "10%",
    split: Annotated[
        bool,
        typer.Option("--split", help="Cut topics that miss alone into replicas."),
    ] = False,
    algorithm: Annotated[
        str, typer.Option(help="search, ffd, lfs or hybrid.")
    ] = "search",
    open: Annotated[
        int, typer.Option("--open", help="Topics that hybrid opens a broker with.")
    ] = 3,
    from_plan: Annotated[
        str | None,
        typer.Option("--from", help="A plan whose brokers were observed."),
    ] = None,
    observed: Annotated[
        str | None,
        typer.Option(help="Latency data of them: brokerwise latency measure --plan."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop searching after so many seconds.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(help="Directory to write.")] = "out/colocate",
    force: Force = False,
    report: Report = None,
    json: Json = False,
) -> None:
    """The fewest brokers that keep every topic below its latency target.

    Brokers process messages, so topics that share one slow each other down. A model
    predicts the 90th percentile of each topic's latency beside any others; topics
    are put together so that each stays below its target. The plan comes with a
    proven bound and is audited before it appears.

    With --from and --observed a plan is mended: sets of topics that were seen to
    miss a target are not used again, and as few topics as possible move.

    Exits 1 if a topic misses its target on a broker of its own.

    \b
    Example:
      brokerwise colocate topics.csv --model out/model --target-ms 250 --k 4
    """
    from brokerwise.model.units import parse_share
    from brokerwise.pipeline.progress import deadline

    stop = deadline(seconds)
    progress = LiveProgress()
    for place, what in ((topics, "file of topics"), (model, "model")):
        refuse_wrong_places(place, out, report, what=what)
    from brokerwise.pipeline.colocate import Request
    from brokerwise.planners.colocate.problem import Options
    from brokerwise.show.results import is_plan
    from brokerwise.storage.place import Place

    if from_plan is not None and algorithm != "search":
        raise InputError(
            "--algorithm is not for a plan that is mended (--from): as few topics as "
            "possible move"
        )
    request = Request(
        k,
        target_ms,
        parse_share(margin, "--margin"),
        *(None if path is None else Place(path) for path in (from_plan, observed)),
    )
    options = Options(algorithm, open, split, seed, stop)
    job = _Job(topics, model, out, force, report, request, options, progress)
    result = job.run(command_line(context, "topics"))
    if json:
        print_json(result)
    else:
        from brokerwise.show.colocate import colocate_text

        print_result(printable(colocate_text(result, report)))
    if not is_plan(result):
        raise typer.Exit(EXIT_NO)


@dataclass(frozen=True)
class _Job:
    topics: str
    model: str
    out: str
    force: bool
    report: Path | None
    request: "Request"
    options: "Options"
    progress: LiveProgress

    def run(self, command: str) -> dict[str, Any]:
        """Make the plan, and the report of it; what --json prints."""
        from importlib.metadata import version

        from brokerwise.pipeline.colocate import colocate_directory
        from brokerwise.show.colocate import colocate_details, colocate_result
        from brokerwise.storage.place import Place

        source, model, out = Place(self.topics), Place(self.model), Place(self.out)
        found = colocate_directory(
            source,
            model,
            out,
            self.request,
            self.options,
            force=self.force,
            progress=self.progress,
        )
        result = {
            **colocate_result(found, out),
            "source": str(source),
            "model": str(model),
            "version": version("brokerwise"),
            "command": command,
            "seconds": {**self.progress.seconds, "total": self.progress.total},
        }
        if found.header is not None:
            result["details"] = colocate_details(found.plan, found.topics)
            keep_with_plan(out, result, self.report)
        return result
