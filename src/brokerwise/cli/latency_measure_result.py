"""What `brokerwise latency measure` does, and what its result is."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from brokerwise.cli.console import LiveProgress, stderr
from brokerwise.cli.countdown import counting_down
from brokerwise.cli.signals import run_until_told
from brokerwise.pipeline.latency_logs import count_over, reduce_logs
from brokerwise.runtime.load.measure import Directory, machine, measuring_in
from brokerwise.runtime.load.series import PlannedSeries, Series, commit_series
from brokerwise.show.measurements import plan_result, targets_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.model.latency import LatencyRows


def measured(
    series: Series, out: Path, progress: LiveProgress, *, force: bool
) -> dict[str, Any]:
    """Measure what is not there yet. However it ends, rows of what is complete are."""
    settings = {**series.settings(), "machine": machine()}
    with measuring_in(out, settings, force=force) as directory:
        try:
            _run(series, directory, progress)
        except BaseException:
            if directory.complete():
                stderr().print("writing what is complete")
                _reduced(series, directory, progress)
            raise
        return _reduced(series, directory, progress)


def _run(series: Series, directory: Directory, progress: LiveProgress) -> None:
    began = perf_counter()
    try:
        with counting_down() as show:
            run_until_told(series.run(directory, show))
    finally:
        progress.seconds["measure"] = round(perf_counter() - began, 3)


def _reduced(
    series: Series, directory: Directory, progress: LiveProgress
) -> dict[str, Any]:
    """Rows of what is complete, by Spark, and what there is to say of them."""
    with progress.session(None, None) as spark, progress.stage("reduce"):
        rows = reduce_logs(spark, directory.logs)
        verdict = _verdict(series, directory, rows, spark)
    header = commit_series(series, directory, rows, machine())
    return {
        "status": "done",
        "configurations": dict(header.configurations),
        "rows": header.rows,
        "missing": series.wanted - sum(header.configurations.values()),
        **verdict,
        "settings": dict(header.settings),
        "machine": dict(header.machine),
        "digest": header.digest,
        "out": str(directory.root),
        "seconds": {**progress.seconds, "total": progress.total},
    }


def _verdict(
    series: Series, directory: Directory, rows: "LatencyRows", spark: "SparkSession"
) -> dict[str, Any]:
    """Which topics of a plan met their targets."""
    if not isinstance(series, PlannedSeries):
        return {}
    over = count_over(spark, directory.logs, targets_of(series))
    return plan_result(series, rows, over)
