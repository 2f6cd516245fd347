"""What `brokerwise overlay` says on the screen."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brokerwise.cli.printable import printable


def overlay_text(result: Mapping[str, Any], report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    from brokerwise.report.overlay_sentences import answer, is_plan

    lines = [answer(result)]
    if is_plan(result):
        lines += [f"  {line}" for line in _numbers(result)]
        lines.append(f"Plan: {result['out']}")
        if report is not None:
            lines.append(f"Report: {report}")
    return printable("\n".join(lines))


def _numbers(result: Mapping[str, Any]) -> Iterator[str]:
    from brokerwise.report.overlay_sentences import (
        bound_line,
        cut_short,
        effort,
        limit,
        others,
    )

    yield effort(result)
    if compared := others(result):
        yield compared
    yield bound_line(result)
    yield from limit(result)
    yield from cut_short(result)
