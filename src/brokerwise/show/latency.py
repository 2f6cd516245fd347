"""Latency models in words and as reports, from what `brokerwise latency train --json`
and `evaluate --json` print."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.results import Result, how_to_repeat, screen
from brokerwise.show.tables import Fact, Table, aligned

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


def train_text(result: Result, report: Path | None) -> str:
    """One sentence, the scores, what it was trained on, and where it is."""
    scores = list(aligned(training_table(result)))[1:]
    lines = [score.removeprefix("  ") for score in scores]
    if result["target_ms"] is not None:
        verdicts = [each["verdicts"] for each in result["by_topics"].values()]
        lines.append(verdict_line("held back", verdicts, result))
    lines += [*source_lines(result["sources"]), *_remarks(result)]
    written = (("Model", result["out"]), ("Report", report))
    return screen(training_answer(result), lines, *written)


def evaluate_text(result: Result, report: Path | None) -> str:
    """One sentence, the scores, wrong predictions, learning curves, the data."""
    lines = [*aligned(score_table(result)), *verdict_lines(result)]
    if not result["tables"]:
        lines += source_lines(result["sources"])
    lines += _remarks(result)
    return screen(evaluation_answer(result), lines, ("Report", report))


def _remarks(result: Result) -> Iterator[str]:
    """What the data has that was not used, or should be known."""
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


def evaluation_page(result: Result) -> Page:
    judged = verdict_table(result)
    tables = [score_table(result), *([] if judged is None else [judged])]
    return Page(
        title="How well latencies are predicted",
        question="How well are latencies of topics on one broker predicted?",
        answer=evaluation_answer(result),
        facts=list(_facts(result)),
        tables=tables,
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def training_page(result: Result) -> Page:
    """The report of a training."""
    tables = [training_table(result)]
    if result["candidates"]:
        tables.append(_candidates(result))
    return Page(
        title=f"Latency model {result['out']}",
        question="How well does the model predict latencies?",
        answer=training_answer(result),
        facts=list(_training_facts(result)),
        tables=tables,
        plots=[scatter(result, each) for each in result["details"]["points"]],
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    sets = result["sets"]
    for kind in sets[0]["kinds"]:
        scores = [each["kinds"][kind]["test"]["mean"] for each in sets]
        worst = least(scores)
        yield Fact(f"R^2, {KINDS[kind]}", worst, "the least, on unseen configurations")
        if result["target_ms"] is not None:
            verdicts = [each["kinds"][kind]["verdicts"] for each in sets]
            yield from _wrong(KINDS[kind], verdicts)


def _wrong(who: str, verdicts: Sequence[Result]) -> Iterator[Fact]:
    """How many predictions about the target are wrong, in both ways."""
    accepted, missed, met, refused = (
        sum(each[name] for each in verdicts)
        for name in ("accepted", "missed", "met", "refused")
    )
    yield Fact(
        f"False negatives, {who}",
        percent(missed / accepted) if accepted else "none",
        f"{missed:,} of {counted(accepted, 'topic')} predicted to meet the target "
        "missed it",
    )
    yield Fact(
        f"False positives, {who}",
        percent(refused / met) if met else "none",
        f"{refused:,} of {counted(met, 'topic')} that met the target were not "
        "predicted to",
    )


def _training_facts(result: Result) -> Iterator[Fact]:
    yield Fact("Topics on a broker", f"up to {result['most_topics']}")
    tests = [each["test"] for each in result["by_topics"].values()]
    yield Fact("R^2", least(tests), "the least, on what was held back")
    if result["target_ms"] is not None:
        verdicts = [each["verdicts"] for each in result["by_topics"].values()]
        yield from _wrong("on what was held back", verdicts)
    for name, (low, high) in result["ranges"].items():
        ends = f"{significant(low)} to {significant(high)}"
        yield Fact(name, ends, "of the topics that it was trained on")
    if result["model_kind"] == "unified":
        parameters = result["parameters"]
        factor = significant(parameters["factor"])
        yield Fact(
            "A message takes",
            f"{factor} times its processing",
            f"and {significant(parameters['overhead_ms'])} ms of a core: what fits "
            "best",
        )


def _candidates(result: Result) -> Table:
    rows = [
        (
            "taken" if each["chosen"] else "",
            *(f"{each[name]:g}" for name in _GROWTH),
            r2_text(each["r2"]),
        )
        for each in result["candidates"]
    ]
    return Table(
        "What was tried: R^2 in cross-validation, mean over numbers of topics",
        ("", *_GROWTH, "R^2"),
        rows,
    )


_GROWTH = ("blend", "rounds", "rate", "leaves", "least")


def _inputs(result: Result) -> list[Fact]:
    facts = []
    if result.get("tables"):
        for each in result["sources"]:
            facts.append(Fact("Table", each["path"], f"digest {each['digest']}"))
    else:
        lines = source_lines(result["sources"])
        for each, line in zip(result["sources"], lines, strict=True):
            facts.append(Fact("Latency data", each["path"], line))
            facts.append(Fact("Digest of the data", each["digest"]))
    if result.get("model"):
        facts.append(Fact("Model", result["model"], result["model_digest"]))
    if result.get("out"):
        facts.append(Fact("Model", result["out"], result["digest"]))
    facts += [Fact("Remark", remark) for remark in result["remarks"]]
    return [
        *facts,
        Fact("Seed", f"{result['seed']}"),
        *how_to_repeat(result),
    ]


_MOST = 400
"""Points of one kind that a plot shows at most."""

_COLOURS = {"unified": 0, "model": 0, "paper": 1}
_TARGET, _EXACT = 3, 4


def plots(result: Result) -> list[Plot]:
    """Predicted against seen and learning curves, by number of topics; all scores."""
    found = []
    for each, points in zip(result["sets"], result["details"]["points"], strict=True):
        found.append(scatter(result, points))
        if any(each["curves"].values()):
            found.append(_curves(each))
    return [*found, _scores(result)] if len(result["sets"]) > 1 else found


def _scores(result: Result) -> Plot:
    names = [short_name(each) for each in result["sets"]]
    kinds = list(result["sets"][0]["kinds"])
    left = {
        kind: [_unexplained(each["kinds"][kind]) for each in result["sets"]]
        for kind in kinds
    }
    series = [
        Series(
            kind,
            list(range(len(names))),
            left[kind],
            [f"{kind}, {name}: {significant(value)}" for name, value in pairs],
            "bar",
            _COLOURS[kind],
        )
        for kind in kinds
        for pairs in [zip(names, left[kind], strict=True)]
    ]
    rows = [
        (name, *(significant(left[kind][at]) for kind in kinds))
        for at, name in enumerate(names)
    ]
    return Plot(
        "What is left to explain",
        "1 - R^2 of the logarithm of p90 on configurations that were not learned from: "
        "0 is exact, 1 is no better than always saying the mean.",
        Axis("", False, names),
        Axis("1 - R^2", False),
        series,
        [Table("1 - R^2", ("", *kinds), rows)],
    )


def _unexplained(scores: Result) -> float:
    mean = scores["test"]["mean"]
    return 0.0 if mean is None else 1.0 - float(mean)


def scatter(result: Result, points: Result) -> Plot:
    """What was predicted for topics, against what was seen of them."""
    kinds = list(points["predicted_ms"])
    shown = _shown(len(points["observed_ms"]))
    seen = [points["observed_ms"][at] for at in shown]
    said = {k: [v[at] for at in shown] for k, v in points["predicted_ms"].items()}
    series = [
        Series(
            kind,
            seen,
            said[kind],
            [
                f"{kind}: predicted {significant(p)} ms, was {significant(o)} ms"
                for o, p in zip(seen, said[kind], strict=True)
            ],
            colour=_COLOURS[kind],
        )
        for kind in kinds
    ]
    every = [*seen, *(value for kind in kinds for value in said[kind])]
    if every:
        series += _lines(result, min(every), max(every))
    rows = [
        (significant(o), *(significant(said[kind][at]) for kind in kinds))
        for at, o in enumerate(seen)
    ]
    return Plot(
        f"Predicted and seen: {short_name(points)}",
        _scatter_caption(result, len(shown), len(points["observed_ms"])),
        Axis("p90 that was seen, ms"),
        Axis("p90 that was predicted, ms"),
        series,
        [Table("p90 (ms)", ("seen", *kinds), rows)],
    )


def _scatter_caption(result: Result, shown: int, every: int) -> str:
    said = "A point is a topic of a configuration that was not learned from. "
    if shown < every:
        said += f"{shown:,} of {every:,} are shown. "
    if result["target_ms"] is not None:
        said += (
            "Below the level line a topic is predicted to meet the target, left of the "
            "upright one it did: points at the lower right are those that were "
            "predicted to and missed, points at the upper left met it though they "
            "were not predicted to."
        )
    return said.strip()


def _lines(result: Result, low: float, high: float) -> list[Series]:
    """Where predictions are exact, and the target."""
    both = [low, high]
    lines = [Series("exact", both, both, ["exact"] * 2, "line", _EXACT)]
    target = result["target_ms"]
    if target is None:
        return lines
    limit = target * (1 - result["margin"])
    met = f"target {significant(target)} ms"
    predicted = f"predicted to meet it: at most {significant(limit)} ms"
    ends = [min(low, limit), max(high, target)]
    return [
        *lines,
        Series("target", [target] * 2, ends, [met] * 2, "line", _TARGET, True),
        Series(
            "predicted to meet it", ends, [limit] * 2, [predicted] * 2, "line", _TARGET
        ),
    ]


def _curves(each: Result) -> Plot:
    series, rows = [], []
    for kind, points in each["curves"].items():
        sizes = [point["configurations"] for point in points]
        for part in ("train", "validation"):
            values = [point[part] for point in points]
            texts = [
                f"{kind}, {part}: {significant(v)} with {n:,} configurations"
                for n, v in zip(sizes, values, strict=True)
            ]
            name, dashed = f"{kind}, {part}", part == "train"
            series.append(
                Series(name, sizes, values, texts, "path", _COLOURS[kind], dashed)
            )
        rows += [
            (
                kind,
                f"{point['configurations']:,}",
                significant(point["train"]),
                significant(point["validation"]),
            )
            for point in points
        ]
    return Plot(
        f"Learning curve: {short_name(each)}",
        "Error (root mean square, of the natural logarithm of p90: 0.1 is about 10 %) "
        "on configurations that were learned from, and on others, against their "
        "number. Curves that have met at a low error need no more data.",
        Axis("configurations learned from", False),
        Axis("error of log p90"),
        series,
        [Table("Errors", ("", "configurations", "train", "validation"), rows)],
    )


def short_name(each: Result) -> str:
    """`2 topics`, or the file name of a table."""
    name = str(each["name"])
    if name.isdecimal():
        return f"{name} topic{'' if name == '1' else 's'}"
    return name.rstrip("/").rsplit("/", 1)[-1]


def _shown(count: int) -> Sequence[int]:
    """At most so many places, evenly spread."""
    if count <= _MOST:
        return range(count)
    return [at * count // _MOST for at in range(_MOST)]
