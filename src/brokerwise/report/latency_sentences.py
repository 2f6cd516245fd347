"""Latency models in words: on the screen and in reports alike.

A result is what `brokerwise latency train --json` or `evaluate --json` prints.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.report.html import Table
from brokerwise.report.numbers import counted, percent, significant

Result = Mapping[str, Any]

KINDS = {
    "unified": "the unified model",
    "paper": "the paper's models",
    "paper-200": "the paper's models after 200 iterations",
    "model": "the model",
}


_PAPERS = ("paper", "paper-200")


def r2_text(value: float | None) -> str:
    """Three digits after the point: `0.985`; nothing that is below 1 is called 1."""
    if value is None or math.isnan(value):
        return "-"
    return f"{math.floor(value * 1000) / 1000:.3f}" if value < 1 else "1.000"


def least(values: Sequence[float | None]) -> str:
    """The least R^2 of those that there are."""
    return r2_text(min((v for v in values if v is not None), default=None))


def evaluation_answer(result: Result) -> str:
    """How well unseen configurations are predicted, in a sentence."""
    sets = result["sets"]
    kinds = list(sets[0]["kinds"])
    first = "unified" if "unified" in kinds else kinds[0]
    said = f"{KINDS[first].capitalize()} predicts p90 with R^2 {_range(sets, first)} "
    said += "on configurations that it has not seen"
    if first in _PAPERS:
        said = said.replace("predicts", "predict").replace("it has", "they have")
    for kind in _PAPERS:
        if kind in kinds and kind != first:
            said += f"; {KINDS[kind]} with {_range(sets, kind)}"
            said += f" ({_comparison(sets, first, kind)})"
    return f"{said}."


def training_answer(result: Result) -> str:
    """What the model knows, and how good it is, in a sentence."""
    every = result["by_topics"].values()
    tests = [each["test"] for each in every]
    topics = f"up to {counted(result['most_topics'], 'topic')} on a broker"
    return (
        f"{result['model_kind'].capitalize()} model for {topics}: R^2 of p90 "
        f"{_span(tests)} on configurations that were held back."
    )


def verdict_lines(result: Result) -> Iterator[str]:
    """How many targets are predicted wrong, one line a kind."""
    if result["target_ms"] is None:
        return
    for kind, verdicts in _verdicts(result).items():
        yield verdict_line(KINDS.get(kind, kind), verdicts, result)


def verdict_line(who: str, verdicts: Sequence[Result], result: Result) -> str:
    total = {
        name: sum(each[name] for each in verdicts)
        for name in ("accepted", "missed", "met", "refused")
    }
    target, margin = significant(result["target_ms"]), percent(result["margin"])
    said = f"{who}: of {counted(total['accepted'], 'topic')} predicted to meet "
    said += f"{target} ms (margin {margin}), {_share(total, 'missed', 'accepted')} "
    said += f"missed; of {total['met']:,} that met, "
    return said + f"{_share(total, 'refused', 'met')} were not predicted to"


def source_lines(sources: Sequence[Result]) -> Iterator[str]:
    """What data there was: measured or simulated, how much, of which broker."""
    for each in sources:
        sizes = ", ".join(
            f"{count:,} of {k}" for k, count in each["configurations"].items()
        )
        cores = each["settings"].get("cores")
        broker = "" if cores is None else f", brokers of {counted(cores, 'core')}"
        yield (
            f"{each['source']} data {each['path']}: configurations by topics: "
            f"{sizes}{broker}"
        )


def score_table(result: Result) -> Table:
    """R^2 by number of topics, or by table, for each kind."""
    kinds = list(result["sets"][0]["kinds"])
    heads = [
        f"{kind} {part}" for kind in kinds for part in _parts(result["sets"], kind)
    ]
    rows = []
    for each in result["sets"]:
        cells = [each["name"], f"{each['configurations']:,}"]
        for kind in kinds:
            for part in _parts(result["sets"], kind):
                cells.append(_cell(each["kinds"][kind][part]))
        rows.append(cells)
    first = "table" if result["tables"] else "topics"
    return Table(_caption(result), (first, "configurations", *heads), rows)


def verdict_table(result: Result) -> Table | None:
    """Wrong predictions by number of topics, for each kind."""
    if result["target_ms"] is None:
        return None
    kinds = list(result["sets"][0]["kinds"])
    heads = [f"{kind} {what}" for kind in kinds for what in ("missed", "refused")]
    rows = []
    for each in result["sets"]:
        cells = [each["name"]]
        for kind in kinds:
            verdicts = each["kinds"][kind]["verdicts"]
            cells += [
                _share(verdicts, "missed", "accepted"),
                _share(verdicts, "refused", "met"),
            ]
        rows.append(cells)
    first = "table" if result["tables"] else "topics"
    caption = (
        f"Target {significant(result['target_ms'])} ms: predicted to meet it and "
        "missed (of those predicted to), and met but not predicted to (of those that "
        "met)"
    )
    return Table(caption, (first, *heads), rows)


def training_table(result: Result) -> Table:
    """Scores of a training, by number of topics."""
    judged = result["target_ms"] is not None
    rows = []
    for k, each in result["by_topics"].items():
        cells = [k, f"{each['configurations']:,}", f"{each['held_out']:,}"]
        cells += [r2_text(each["train"]), r2_text(each["test"])]
        if judged:
            verdicts = each["verdicts"]
            cells.append(_share(verdicts, "missed", "accepted"))
            cells.append(_share(verdicts, "refused", "met"))
        rows.append(cells)
    heads = ["topics", "configurations", "held back", "R^2 train", "R^2 held back"]
    heads += ["missed", "refused"] if judged else []
    return Table("R^2 of the logarithm of p90", heads, rows)


def _verdicts(result: Result) -> dict[str, list[Result]]:
    kinds = list(result["sets"][0]["kinds"])
    return {
        kind: [each["kinds"][kind]["verdicts"] for each in result["sets"]]
        for kind in kinds
    }


def _caption(result: Result) -> str:
    if result["model"] is not None:
        return "R^2 of the logarithm of p90"
    return (
        "R^2 of the logarithm of p90, mean and standard deviation over "
        f"{counted(result['splits'], 'split')} by configuration"
    )


def _parts(sets: Sequence[Result], kind: str) -> list[str]:
    return [part for part in ("train", "test") if sets[0]["kinds"][kind][part]]


def _cell(score: Result) -> str:
    if not score["deviation"]:
        return r2_text(score["mean"])
    return f"{r2_text(score['mean'])} \N{PLUS-MINUS SIGN} {score['deviation']:.3f}"


def _share(counts: Mapping[str, int], part: str, whole: str) -> str:
    if not counts[whole]:
        return "none"
    return percent(counts[part] / counts[whole])


def _range(sets: Sequence[Result], kind: str) -> str:
    return _span([each["kinds"][kind]["test"]["mean"] for each in sets])


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    low, high = r2_text(min(known, default=None)), r2_text(max(known, default=None))
    return low if low == high else f"{low} to {high}"


def _comparison(sets: Sequence[Result], first: str, other: str) -> str:
    means = [
        [each["kinds"][kind]["test"]["mean"] for kind in (first, other)]
        for each in sets
    ]
    worse = sum(None not in pair and pair[0] < pair[1] for pair in means)
    if not worse:
        return "never better"
    return f"better in {worse} of {len(sets)}"
