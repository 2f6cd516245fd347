"""What `brokerwise latency simulate` says on the screen."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.cli.printable import printable


def simulate_text(result: Mapping[str, Any]) -> str:
    """One sentence, the numbers that carry it, and what is next."""
    lines = [_answer(result), *(f"  {said}" for said in _numbers(result))]
    out = result["out"].rstrip("/")
    command = ["brokerwise", "latency", "train", out, "--out", f"{out}-model"]
    return printable("\n".join([*lines, f"Next: {shlex.join(command)}"]))


def _answer(result: Mapping[str, Any]) -> str:
    counts = result["configurations"]
    ks = sorted(map(int, counts))
    topics = f"{ks[0]} to {ks[-1]} topics" if len(ks) > 1 else _topics(ks[0])
    return (
        f"Latency data in {result['out']}: {sum(counts.values()):,} configurations of "
        f"{topics}, {result['rows']:,} rows, simulated in "
        f"{result['simulating_seconds']:.1f} s."
    )


def _topics(k: int) -> str:
    return f"{k} topic" if k == 1 else f"{k} topics"


def _numbers(result: Mapping[str, Any]) -> Iterator[str]:
    settings = result["settings"]
    most = ", ".join(
        f"{n * settings['rate_each']:g} at {p} ms"
        for p, n in settings["most_publishers"].items()
    )
    yield (
        f"largest rates (messages/s) of a topic alone for p90 <= "
        f"{settings['target_ms']:g} ms: {most}"
    )
    parts = ", ".join(f"{name}={v:.3g}" for name, v in settings["overhead"].items())
    yield f"overhead: {parts}"
    calibrated = settings["calibrated"]
    if calibrated is None:
        yield "not calibrated (--calibrate): how near a real broker it is is not known"
    else:
        yield from _calibration(calibrated)


def _calibration(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"calibrated on a part of {found['path']}; on the others"
    yield f"  all: {_agreement(found['checked'])}"
    for k, of in found["by_topics"].items():
        yield f"  {_topics(int(k))}: {_agreement(of)}"
    for name, words in (("below", "below saturation"), ("above", "saturated")):
        if found[name] is not None:
            yield f"  {words}: {_agreement(found[name])}"


def _agreement(of: Mapping[str, Any]) -> str:
    r2 = "" if of["r2"] is None else f", R^2 of log {of['r2']:.3f}"
    return (
        f"p90 off by {of['median']:.1%} (median), {of['p90']:.1%} (9 of 10 less)"
        f"{r2}, {of['rows']:,} rows"
    )
