"""How a result was made, and how to make it again: at the end of every report."""

from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.report.html import Fact


def how_to_repeat(result: Mapping[str, Any]) -> Iterator[Fact]:
    """The command, the version that ran it, and how long it took."""
    yield Fact("Command", result["command"])
    yield Fact("Brokerwise", result["version"])
    if "seconds" in result:
        stages = [f"{name} {value:.1f} s" for name, value in result["seconds"].items()]
        yield Fact("Time", ", ".join(stages))
