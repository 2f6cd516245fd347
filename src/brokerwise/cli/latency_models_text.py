"""What `brokerwise latency train` and `evaluate` say on the screen."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brokerwise.cli.printable import printable


def train_text(result: Mapping[str, Any], report: Path | None) -> str:
    """One sentence, the scores, what it was trained on, and where it is."""
    from brokerwise.report.latency_sentences import (
        source_lines,
        training_answer,
        training_table,
        verdict_line,
    )
    from brokerwise.report.tables import aligned

    lines = [training_answer(result)]
    lines += list(aligned(training_table(result)))[1:]
    if result["target_ms"] is not None:
        verdicts = [each["verdicts"] for each in result["by_topics"].values()]
        lines.append(f"  {verdict_line('held back', verdicts, result)}")
    lines += [f"  {line}" for line in source_lines(result["sources"])]
    lines += [f"  {line}" for line in _remarks(result)]
    lines.append(f"Model: {result['out']}")
    if report is not None:
        lines.append(f"Report: {report}")
    return printable("\n".join(lines))


def evaluate_text(result: Mapping[str, Any], report: Path | None) -> str:
    """One sentence, the scores, wrong predictions, learning curves, the data."""
    from brokerwise.report.latency_sentences import (
        evaluation_answer,
        score_table,
        source_lines,
        verdict_lines,
    )
    from brokerwise.report.tables import aligned

    lines = [evaluation_answer(result)]
    lines += [f"  {line}" for line in aligned(score_table(result))]
    lines += [f"  {line}" for line in verdict_lines(result)]
    if not result["tables"]:
        lines += [f"  {line}" for line in source_lines(result["sources"])]
    lines += [f"  {line}" for line in _remarks(result)]
    if report is not None:
        lines.append(f"Report: {report}")
    return printable("\n".join(lines))


def _remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """What the data has that was not used, or should be known."""
    from brokerwise.report.numbers import counted

    if result["late"]:
        late = counted(result["late"], "configuration")
        yield f"left out: {late} whose messages were sent too late"
    if result["larger"]:
        larger = counted(result["larger"], "configuration")
        yield f"left out: {larger} of more topics than --k"
    if result.get("left_out"):
        seen = counted(result["left_out"], "configuration")
        yield f"left out: {seen} that the model was trained on"
    yield from result["remarks"]
