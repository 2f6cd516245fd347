"""What `brokerwise latency measure` says at its end."""

import shlex
from collections.abc import Mapping
from typing import Any

from brokerwise.cli.latency_measure_plan import plan_text
from brokerwise.report.numbers import counted, percent


def measure_text(result: Mapping[str, Any]) -> str:
    settings = result["settings"]
    of_plan = "plan" in settings
    lines = plan_text(result) if of_plan else _drawn_text(result)
    shares = [percent(share) for share in settings["others_share"]]
    lines.append(
        f"  other processes took {shares[0]} of the broker's cores at the median, "
        f"{shares[1]} at most"
    )
    lines += _doubts(settings)
    if result["missing"]:
        lines.append(
            f"  {counted(result['missing'], 'configuration')} still to come: the same "
            "command goes on"
        )
    out = result["out"]
    lines.append(f"Data: {out} (digest {result['digest'][:12]})")
    if not of_plan:
        next_ = shlex.join(["brokerwise", "latency", "train", out])
        lines.append(f"Next: {next_} --out DIR")
    return "\n".join(lines)


def _drawn_text(result: Mapping[str, Any]) -> list[str]:
    settings, counts = result["settings"], result["configurations"]
    by_k = ", ".join(f"{count:,} of {k}" for k, count in counts.items())
    most = ", ".join(
        f"{count * settings['rate_each']:g}/s at {processing} ms"
        for processing, count in settings["most_publishers"].items()
    )
    lines = [
        f"{counted(sum(counts.values()), 'configuration')} measured on "
        f"{counted(settings['cores'], 'core')}: {by_k} topics, "
        f"{counted(result['rows'], 'row')}"
    ]
    if most:
        target = f"{settings['target_ms']:g} ms"
        lines.append(f"  largest rates of a topic alone for p90 <= {target}: {most}")
    return lines


def _doubts(settings: Mapping[str, Any]) -> list[str]:
    lines = []
    if settings["censored"]:
        lines.append(
            f"  {counted(len(settings['censored']), 'configuration')} ended after "
            f"{settings['longest_seconds']:g} s with messages on their way: their p90s "
            "are lower bounds"
        )
    if settings["late"]:
        lines.append(
            f"  {counted(len(settings['late']), 'configuration')} got messages late: "
            "the process that sends did not keep up"
        )
    return lines
