"""`brokerwise latency evaluate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.latency_train import K, Margin, TargetMs
from brokerwise.cli.options import Json, Report, Seed
from brokerwise.cli.printable import printable
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import write_report
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.pipeline.latency_models import EvaluationOptions, EvaluationResult


def evaluate(
    context: typer.Context,
    data: Annotated[
        list[str] | None, typer.Argument(help="Directories of latency data.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(help="Others' data, CSV or Parquet, instead; may be repeated."),
    ] = None,
    group: Annotated[
        str, typer.Option(help="Column of a table: rows measured together.")
    ] = "configuration",
    p90: Annotated[str, typer.Option(help="Column of a table: p90.")] = "p90_ms",
    features: Annotated[
        str, typer.Option(help="Columns of a table to predict from: a,b,c.")
    ] = "",
    model: Annotated[
        str | None,
        typer.Option(help="Evaluate this model, on data it was not trained on."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="unified, paper or paper-200 (its networks trained for 200 "
            "iterations, not 5,000); may be repeated. Default: all."
        ),
    ] = None,
    k: K = None,
    splits: Annotated[
        int, typer.Option(min=1, help="How often data is split into two parts.")
    ] = 20,
    test_share: Annotated[
        float, typer.Option(help="Configurations of the part to test on.")
    ] = 0.2,
    target_ms: TargetMs = None,
    margin: Margin = 0.1,
    curves: Annotated[bool, typer.Option(help="Also learning curves.")] = True,
    seed: Seed = 0,
    report: Report = None,
    json: Json = False,
) -> None:
    """How well latencies are predicted: R^2 of the logarithm of p90.

    Data is split by configuration, many times: one part to learn from, one to test
    on. With --model nothing is learned: that model predicts the data.

    \b
    Examples:
      brokerwise latency evaluate out/measured --target-ms 250 --report out/latency.html
      brokerwise latency evaluate --table k1.csv --group idx --p90 flat_90th \\
        --features fv,fproc,bv,bproc
    """
    from brokerwise.latency.evaluation import Splits, Target
    from brokerwise.latency.models import EVALUATED
    from brokerwise.pipeline.latency_models import EvaluationOptions

    progress = LiveProgress()
    if report is not None:
        from brokerwise.show.page import refuse_unwritable

        refuse_unwritable(report)
    target = None if target_ms is None else Target(target_ms, margin)
    kinds = tuple(kind or EVALUATED)
    options = EvaluationOptions(Splits(splits, test_share, seed), target, kinds, curves)
    tables = _Tables(table or [], group, p90, features)
    found = _evaluated(data or [], tables, model, k, options, progress)
    from brokerwise.cli.latency_models_result import details, evaluate_result

    result = {
        **evaluate_result(found, options),
        "data": data or [],
        "tables": table or [],
        "model": model,
        "command": command_line(context, "data"),
        "seconds": {**progress.seconds, "total": progress.total},
        "details": details(found),
    }
    write_report(report, result)
    if json:
        print_json(result)
    else:
        from brokerwise.show.latency import evaluate_text

        print_result(printable(evaluate_text(result, report)))


class _Tables:
    def __init__(self, files: list[str], group: str, p90: str, features: str) -> None:
        self.files, self.group, self.p90 = files, group, p90
        self.features = tuple(filter(None, map(str.strip, features.split(","))))


def _evaluated(
    data: list[str],
    tables: _Tables,
    model: str | None,
    k: int | None,
    options: "EvaluationOptions",
    progress: LiveProgress,
) -> "EvaluationResult":
    from brokerwise.pipeline import latency_models as job
    from brokerwise.storage.latency_table import Columns
    from brokerwise.storage.place import Place

    if bool(data) == bool(tables.files):
        raise InputError(
            "expected either directories of latency data or --table",
            hint="Try: brokerwise latency evaluate --help",
        )
    if tables.files:
        if model is not None or k is not None:
            raise InputError("--model and --k are for latency data, not for --table")
        columns = Columns(tables.group, tables.p90, tables.features)
        files = [Place(file) for file in tables.files]
        return job.evaluate_tables(files, columns, options, progress=progress)
    places = [Place(each) for each in data]
    if model is not None:
        return job.evaluate_model(
            Place(model), places, options.target, most=k, progress=progress
        )
    return job.evaluate_data(places, options, most=k, progress=progress)
