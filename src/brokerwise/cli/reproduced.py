"""What the commands of `brokerwise reproduce` print."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from brokerwise.cli.console import print_json, print_result

EXIT_VIOLATED = 1


def print_reproduced(
    result: Mapping[str, Any],
    out: Path,
    text: Callable[[Any], str],
    seconds: Mapping[str, float],
    json: bool,
) -> None:
    """What was found, and where it is; exits 1 if a check failed."""
    if json:
        print_json({**result, "out": str(out), "seconds": dict(seconds)})
    else:
        print_result(text(result))
        print_result(f"Report: {out / 'report.html'}   Summary: {out / 'summary.md'}")
    if result["problems"]:
        raise typer.Exit(EXIT_VIOLATED)
