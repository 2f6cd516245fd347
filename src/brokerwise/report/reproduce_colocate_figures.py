"""Figures 1 and 2 of `reproduce colocate`, drawn."""

from collections.abc import Iterator, Sequence

from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.reproduce_colocate_cells import (
    KINDS,
    PAPER,
    UNIFIED,
    Result,
    curve,
    learned,
    ms_text,
)
from brokerwise.report.reproduce_colocate_tables import (
    curves_table,
    rates_table,
    sensitivity_table,
    thresholds_table,
    verdicts_table,
)

_MS = Axis("p90, ms")
_SIMULATED = "Simulated; the paper prints no values beside those named here."
_TARGET_COLOUR = 4


def model_plots(result: Result) -> Iterator[Plot]:
    """What there is of Figures 1 and 2."""
    yield from _sensitivity(result)
    yield from _single(result)
    yield from _scattered(result)
    yield from _curves(result)


def _sensitivity(result: Result) -> Iterator[Plot]:
    found = result["sensitivity"]
    if "a" in found:
        yield Plot(
            "Figure 1a: p90 by the number of subscribers",
            f"One publisher of 1 message/s, by processing time. {_SIMULATED}",
            Axis("subscribers", log=False),
            Axis("p90, ms", log=False),
            _paths(found["a"], "subscribers"),
            [sensitivity_table(result)],
        )
    if "b" in found:
        yield _beside(result)
    if "c" in found:
        yield Plot(
            "Figure 1c: p90 by rate, a topic alone",
            f"By processing time. {_SIMULATED}",
            Axis("messages/s", log=False),
            _MS,
            [
                _path(f"{p} ms", found["c"]["rates"][p], values, "messages/s")
                for p, values in found["c"]["curves"].items()
            ]
            + [_target(_ends(found["c"]["rates"].values()))],
            [rates_table(result)],
        )
    if "d" in found:
        yield _shared(result)


def _beside(result: Result) -> Plot:
    found = result["sensitivity"]["b"]
    alone, most = result["published"]["background_ms"]
    published = Series(
        "published",
        [found["x"][0], found["saturated"]],
        [alone, most],
        [f"published: {alone:g} ms alone", f"published: {most:g} ms when saturated"],
        "points",
    )
    return Plot(
        "Figure 1b: p90 of a topic with 200 subscribers, by the topics beside it",
        "50 ms of processing each, 10 messages/s of each topic beside it. The "
        "published points are the first and the last of the paper's curve, which ends "
        "where the processor is saturated; it does not print with how many topics, so "
        "the last is where ours is.",
        Axis("topics beside it", log=False),
        Axis("p90, ms", log=False),
        [*_paths(found, "topics beside it"), published],
        [sensitivity_table(result)],
    )


def _shared(result: Result) -> Plot:
    found = result["sensitivity"]["d"]
    lines = [
        _path(f"{count} topics beside it", found["x"], values, "messages/s")
        for count, values in found["curves"].items()
    ]
    printed = result["published"]["thresholds"]
    published = Series(
        "published thresholds",
        list(printed.values()),
        [result["setting"]["target_ms"]] * len(printed),
        [
            f"published: {rate} messages/s beside {count} topics"
            for count, rate in printed.items()
        ],
        "points",
    )
    return Plot(
        "Figure 1d: p90 by rate beside 0, 7 and 11 topics, 20 ms of processing",
        "Medians over random topics that could use all the cores. The paper prints "
        "threshold rates and not the load beside them.",
        Axis("messages/s", log=False),
        _MS,
        [*lines, _target([found["x"][0], found["x"][-1]]), published],
        [thresholds_table(result)],
    )


def _single(result: Result) -> Iterator[Plot]:
    """Figure 2a: what was seen of a topic alone, and both kinds' curves."""
    models = {kind: learned(result, kind, 1) for kind in KINDS}
    known = {kind: model for kind, model in models.items() if model is not None}
    if not known:
        return
    seen = next(iter(known.values()))["single"]["observed"]
    series = []
    for colour, (p, points) in enumerate(seen.items()):
        series.append(
            Series(
                f"{p} ms, simulated",
                points["rate"],
                points["p90_ms"],
                _hover(f"{p} ms", points["rate"], points["p90_ms"], "messages/s"),
                "points",
                colour,
            )
        )
        most = int(points["rate"][-1])
        series += [_predicted(m, kind, p, most, colour) for kind, m in known.items()]
    yield Plot(
        "Figure 2a: p90 of a topic alone, and what is predicted",
        "Points: simulated. Lines: the paper's polynomial of degree 4; dashed: ours.",
        Axis("messages/s", log=False),
        _MS,
        series,
        [rates_table(result)],
        wide=True,
    )


def _predicted(model: Result, kind: str, p: str, most: int, colour: int) -> Series:
    """What a model says of a topic alone, up to the largest rate that was seen."""
    values = model["single"]["predicted"][p][:most]
    rates = list(range(1, len(values) + 1))
    name = f"{p} ms, {KINDS[kind]}"
    said = _hover(name, rates, values, "messages/s")
    return Series(name, rates, values, said, "line", colour, kind == UNIFIED)


def _scattered(result: Result) -> Iterator[Plot]:
    for k, figure in ((2, "Figure 2b"), (6, "Figures 2c, 2d")):
        models = {kind: learned(result, kind, k) for kind in KINDS}
        known = {kind: m for kind, m in models.items() if m is not None}
        if not known:
            continue
        every = [
            value
            for model in known.values()
            for value in model["points"][str(k)]["observed_ms"]
        ]
        ends = [min(every), max(every)]
        series = [
            _pairs(KINDS[kind], model["points"][str(k)])
            for kind, model in known.items()
        ]
        same = Series("as observed", ends, ends, ["predicted = observed"] * 2, "line")
        yield Plot(
            f"{figure}: predicted against observed p90, k = {k}",
            "Configurations that were held back, test and validation. Above the line "
            "latency is overestimated, below it underestimated.",
            Axis("observed (simulated) p90, ms"),
            Axis("predicted p90, ms"),
            [*series, same],
            [verdicts_table(result)],
        )


def _curves(result: Result) -> Iterator[Plot]:
    for k, figure in ((4, "Figure 2e"), (6, "Figure 2f")):
        series = []
        for colour, kind in enumerate((PAPER, UNIFIED)):
            points = [
                (size, scores)
                for size, scores in curve(result, kind, k)
                if "validation" in scores
            ]
            for part in ("train", "validation") if points else ():
                name = f"{KINDS[kind]}, {part}"
                sizes = [size for size, _ in points]
                errors = [100 * (1 - scores[part]) for _, scores in points]
                series.append(
                    Series(
                        name,
                        sizes,
                        errors,
                        [
                            f"{name}, {size} configurations: {error:.2f} %"
                            for size, error in zip(sizes, errors, strict=True)
                        ],
                        "path",
                        colour,
                        part == "validation",
                    )
                )
        if series:
            yield Plot(
                f"{figure}: learning curves, k = {k}",
                "Errors (1 - R^2) by the number of configurations to learn from; "
                "dashed: on validation data. The paper says about "
                f"{100 * result['published']['curve_error']:g} % for both with all.",
                Axis("configurations", log=False),
                Axis("1 - R^2, %", log=False),
                series,
                [curves_table(result)],
            )


def _pairs(name: str, points: Result) -> Series:
    observed, predicted = points["observed_ms"], points["predicted_ms"]
    return Series(
        name,
        observed,
        predicted,
        [
            f"{name}: observed {ms_text(x)}, predicted {ms_text(y)}"
            for x, y in zip(observed, predicted, strict=True)
        ],
        "points",
    )


def _paths(found: Result, unit: str) -> list[Series]:
    return [
        _path(f"{p} ms", found["x"], values, unit)
        for p, values in found["curves"].items()
    ]


def _path(name: str, x: Sequence[float], values: Sequence[float], unit: str) -> Series:
    return Series(name, x, values, _hover(name, x, values, unit), "path")


def _hover(
    name: str, x: Sequence[float], values: Sequence[float], unit: str
) -> list[str]:
    pairs = zip(x, values, strict=True)
    return [f"{name}, {at:g} {unit}: {ms_text(value)}" for at, value in pairs]


def _ends(rates: Sequence[Sequence[float]]) -> list[float]:
    return [min(each[0] for each in rates), max(each[-1] for each in rates)]


def _target(ends: Sequence[float]) -> Series:
    said = ["the target: 1,000 ms"] * 2
    return Series("target", ends, [1000.0] * 2, said, "line", _TARGET_COLOUR, True)
