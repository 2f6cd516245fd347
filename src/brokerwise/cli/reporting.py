"""What becomes of a result besides being printed."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brokerwise.storage.place import Place


def write_report(path: Path | None, result: Mapping[str, Any]) -> None:
    """Write the report of a result, if one was asked for."""
    if path is None:
        return
    from brokerwise.show.page import write_page
    from brokerwise.show.reports import render

    write_page(path, render(result))


def keep_with_plan(
    plan: "Place", result: Mapping[str, Any], report: Path | None
) -> None:
    """Keep a result in the directory of its plan, and write its report."""
    from brokerwise.storage.output import keep_result

    keep_result(plan, result)
    write_report(report, result)
