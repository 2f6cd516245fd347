"""What `brokerwise colocate` says on the screen."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brokerwise.cli.printable import printable


def colocate_text(result: Mapping[str, Any], report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    from brokerwise.report.colocate_sentences import answer, is_plan

    lines = [answer(result)]
    if is_plan(result):
        lines += [f"  {line}" for line in _numbers(result)]
        lines.append(f"Plan: {result['out']}")
        if report is not None:
            lines.append(f"Report: {report}")
    return printable("\n".join(lines))


def _numbers(result: Mapping[str, Any]) -> Iterator[str]:
    from brokerwise.report.colocate_sentences import (
        bound_line,
        cut_short,
        effort,
        feedback,
        left_out,
        limit,
        model_line,
        others,
        splits,
    )

    compared = others(result)
    yield effort(result) + (f"     {compared}" if compared else "")
    yield bound_line(result)
    yield from feedback(result)
    yield from splits(result)
    yield from left_out(result)
    yield from limit(result)
    yield from model_line(result)
    yield from cut_short(result)
