"""The plots of an evaluation, from a result with its details."""

from collections.abc import Sequence

from brokerwise.report.html import Table
from brokerwise.report.latency_sentences import Result
from brokerwise.report.numbers import significant
from brokerwise.report.plots import Axis, Plot, Series

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
