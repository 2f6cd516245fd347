"""What `brokerwise fill` says on the screen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brokerwise.cli.printable import printable


def fill_text(result: Mapping[str, Any], report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    from brokerwise.report.fill_sentences import (
        answer,
        bounds,
        cut_short,
        effort,
        heuristics,
        limit,
        split,
    )

    compared = heuristics(result)
    lines = [
        answer(result),
        f"  {effort(result)}{f'     {compared}' if compared else ''}",
        f"  {bounds(result)}",
        *(f"  {said}" for said in (*split(result), *limit(result), *cut_short(result))),
        f"Plan: {result['out']}",
    ]
    if report is not None:
        lines.append(f"Report: {report}")
    return printable("\n".join(lines))
