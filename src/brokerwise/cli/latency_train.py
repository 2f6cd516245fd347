"""`brokerwise latency train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Force, Json, Report, Seed
from brokerwise.cli.places import refuse_wrong_places
from brokerwise.cli.printable import printable
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import write_report

if TYPE_CHECKING:
    from brokerwise.pipeline.latency_models import TrainingRequest

TargetMs = Annotated[
    float | None,
    typer.Option(help="p90 that topics must not exceed: counts wrong predictions."),
]
Margin = Annotated[
    float,
    typer.Option(help="Share of the target that predictions must stay below."),
]
K = Annotated[
    int | None,
    typer.Option("--k", min=1, help="Most topics on a broker. Default: all there is."),
]


def train(
    context: typer.Context,
    data: Annotated[list[str], typer.Argument(help="Directories of latency data.")],
    out: Annotated[str, typer.Option(help="Directory to write.")] = "out/model",
    kind: Annotated[
        str, typer.Option(help="unified (one for all k) or paper (one for each k).")
    ] = "unified",
    k: K = None,
    target_ms: TargetMs = None,
    margin: Margin = 0.1,
    seed: Seed = 0,
    force: Force = False,
    report: Report = None,
    json: Json = False,
) -> None:
    """Learn to predict the p90 latency of topics that share a broker.

    First a part of the configurations is held back, to see how well the rest
    predicts them. Then the model is trained on everything. A model directory is
    data: it can be copied, read by others, and runs nothing.

    \b
    Example:
      brokerwise latency train out/measured out/simulated --target-ms 250
    """
    from brokerwise.latency.evaluation import Target
    from brokerwise.pipeline.latency_models import TrainingRequest

    progress = LiveProgress()
    for each in data:
        refuse_wrong_places(each, out, report, what="latency data")
    target = None if target_ms is None else Target(target_ms, margin)
    request = TrainingRequest(kind, k, seed, target)
    command = command_line(context, "data")
    result = _run(data, out, request, force, report, command, progress)
    if json:
        print_json(result)
    else:
        from brokerwise.show.latency import train_text

        print_result(printable(train_text(result, report)))


def _run(
    data: list[str],
    out: str,
    request: "TrainingRequest",
    force: bool,
    report: Path | None,
    command: str,
    progress: LiveProgress,
) -> dict[str, Any]:
    from brokerwise.cli.latency_models_result import train_details, train_result
    from brokerwise.pipeline.latency_models import train_directory
    from brokerwise.storage.place import Place

    places = [Place(each) for each in data]
    trained = train_directory(
        places, Place(out), request, force=force, progress=progress
    )
    result = {
        **train_result(trained),
        "out": out,
        "command": command,
        "seconds": {**progress.seconds, "total": progress.total},
        "details": train_details(trained),
    }
    write_report(report, result)
    return result
