"""`brokerwise profile`."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Conf, Json, Master, Report, parse_conf
from brokerwise.cli.places import refuse_within
from brokerwise.cli.reporting import write_report

if TYPE_CHECKING:
    from brokerwise.show.tables import Table


def profile(
    workload: Annotated[str, typer.Argument(help="A workload directory.")],
    json: Json = False,
    report: Report = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """What a workload looks like: counts, rates, and how they are spread.

    Quantiles of followers, followings, rates and what subscribers receive; with
    --json or --report also the whole distributions.

    Example: brokerwise profile out/workload --report out/profile.html
    """
    from brokerwise.show.page import refuse_unwritable

    settings = parse_conf(conf)
    if report is not None:
        refuse_unwritable(report)
        refuse_within("--report", str(report), workload, "workload")
    result = _profile(workload, report, master, settings)
    write_report(report, result)
    if json:
        print_json(result)
    else:
        print_result(_text(result, report))


def _profile(
    workload: str, report: Path | None, master: str | None, conf: dict[str, str]
) -> dict[str, Any]:
    """The result that --json prints and the report holds."""
    from importlib.metadata import version

    from brokerwise.storage.place import Place
    from brokerwise.storage.workload import read_header

    progress = LiveProgress()
    place = Place(workload)
    header = read_header(place)  # before Spark starts: a wrong path should not wait
    with progress.session(master, conf) as spark:
        from brokerwise.pipeline.profile import profile_directory

        with progress.stage("count"):
            found = profile_directory(spark, place)
    return {
        "kind": "profile",
        "workload": str(place),
        "digest": header.digest,
        "version": version("brokerwise"),
        "command": _command(str(place), report),
        "seconds": {**progress.seconds, "total": progress.total},
        **found.as_json(),
    }


def _command(workload: str, report: Path | None) -> str:
    """How to get this result again. --master and --conf do not change it, and
    settings may hold secrets.
    """
    command = ["brokerwise", "profile", workload]
    if report is not None:
        command += ["--report", str(report)]
    return shlex.join(command)


def _text(result: Mapping[str, Any], report: Path | None) -> str:
    from brokerwise.show.numbers import counted, significant
    from brokerwise.show.profile import answer, quantile_table

    topics = counted(result["topics_without_subscribers"], "topic")
    subscribers = counted(result["subscribers_without_topics"], "subscriber")
    lines = [
        answer(result),
        *_aligned(quantile_table(result)),
        f"  one broker for all: load {result['load']:,} "
        f"({significant(result['load_mbit_s'])} Mbit/s)     "
        f"{topics} without subscribers, {subscribers} without topics",
    ]
    if report is not None:
        lines.append(f"Report: {report}")
    return "\n".join(lines)


def _aligned(table: "Table") -> list[str]:
    """The rows of a table, its first column to the left, numbers to the right."""
    rows = [table.columns, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "   ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
