"""What `brokerwise simulate` says on the screen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brokerwise.cli.printable import printable


def simulate_text(result: Mapping[str, Any], report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    from brokerwise.report.balance_sentences import answer, limits, numbers

    lines = [
        answer(result),
        *(f"  {said}" for said in (*numbers(result), *limits(result))),
        f"  simulated in {result['seconds']['total']:.1f} s",
    ]
    if report is not None:
        lines.append(f"Report: {report}")
    return printable("\n".join(lines))
