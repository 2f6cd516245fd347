"""Figures 5 to 14 of `reproduce balance`, drawn."""

from collections.abc import Callable, Iterator, Sequence

from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.reproduce_balance_cells import (
    CITY,
    LIVE,
    PAPER,
    PAPER_NAMES,
    PLACEMENTS,
    POLICIES,
    WORLDS,
    Result,
    cov_text,
    load_text,
    max_loads,
    runs_of,
    title_of,
    unit_of,
)
from brokerwise.report.reproduce_balance_tables import sweep_table

_MINUTES = Axis("minutes", log=False)
_COV = Axis("cov", log=False)
_STYLES = {
    "none": (0, False),
    "ldm": (1, False),
    "sdm": (2, False),
    "gsh": (3, False),
    "ldm+gsh": (1, True),
    "sdm+gsh": (2, True),
    "planned": (4, False),
    "planned@ldm": (4, True),
    "ldm@ldm": (0, True),
}
"""Of each policy: its colour, and whether it is dashed."""
_FIGURES = {
    (CITY, "random", "loads"): "Figure 5",
    (CITY, "random", "metrics"): "Figure 6",
    (CITY, "round-robin", "loads"): "Figure 7",
    (CITY, "nearest", "loads"): "Figures 8, 9",
    (CITY, "nearest", "metrics"): "Figures 10, 11",
    (PAPER, "nearest", "loads"): "Figure 13",
}


def plots(result: Result) -> Iterator[Plot]:
    """What there is of: loads of brokers, then max load, cov and moves by placement;
    Figure 12; Figure 14."""
    for world in (CITY, LIVE, PAPER):
        for placement in PLACEMENTS:
            runs = runs_of(result, world, placement)
            for run in runs:
                if _is_drawn(run):
                    yield _loads(run)
            if len(runs) > 1:
                yield _max_load(runs)
                yield _cov(runs)
        if len(runs_of(result, world)) > 1:
            yield _moves(result, world)
    if result["sweep"]:
        yield from _thresholds(result)


def _is_drawn(run: Result) -> bool:
    """The paper's figures and ours; of its simulation it has nearest placement only."""
    return bool(run["world"] != PAPER or run["placement"] == "nearest")


def _figure(run: Result, what: str) -> str:
    world = CITY if run["world"] == LIVE else run["world"]
    return _FIGURES.get((world, run["placement"], what), "Beside the figures")


def _loads(run: Result) -> Plot:
    unit = unit_of([run])
    size = unit[0]
    minutes = [at / 60 for at in run["times"]]
    lines = []
    for broker, values in enumerate(zip(*run["loads"], strict=True)):
        lines.append(
            Series(
                f"b{broker}",
                minutes,
                [value / size for value in values],
                [
                    f"b{broker}, {at:.1f} min: {load_text(value, unit)}"
                    for at, value in zip(minutes, values, strict=True)
                ],
                "line",
            )
        )
    means = [sum(row) / len(row) for row in run["loads"]]
    hover = [
        f"mean, {at:.1f} min: {load_text(mean, unit)}"
        for at, mean in zip(minutes, means, strict=True)
    ]
    mean = Series(
        "mean", minutes, [m / size for m in means], hover, "line", dashed=True
    )
    return Plot(
        f"{_figure(run, 'loads')}: {title_of(run)} ({WORLDS[run['world']]})",
        f"Load of each broker; {run['moves']:,} moves in {run['decisions']:,} "
        f"decisions, cov at the end {cov_text(run['cov_end'])}.",
        _MINUTES,
        Axis(f"load, {unit[1]}", log=False),
        [*lines, mean],
    )


def _max_load(runs: Sequence[Result]) -> Plot:
    unit = unit_of(runs)
    return Plot(
        f"{_figure(runs[0], 'metrics')} (1): max load, {_where(runs)}",
        "Load of the fullest broker at each time, by policy.",
        _MINUTES,
        Axis(f"max load, {unit[1]}", log=False),
        [
            _line(run, max_loads(run), lambda y: load_text(y, unit), unit[0])
            for run in runs
        ],
    )


def _cov(runs: Sequence[Result]) -> Plot:
    alpha = runs[0]["alpha"]
    ends = [runs[0]["times"][0] / 60, runs[0]["times"][-1] / 60]
    limit = Series(
        f"alpha {alpha:g}", ends, [alpha] * 2, [f"alpha {alpha:g}"] * 2, "line", 3, True
    )
    lines = [_line(run, run["cov_over_time"], cov_text, 1.0) for run in runs]
    return Plot(
        f"{_figure(runs[0], 'metrics')} (2): cov, {_where(runs)}",
        "Standard deviation of the brokers' loads over their mean, by policy. Above "
        "the dashed line sessions are moved, if the mean load is above beta.",
        _MINUTES,
        _COV,
        [*lines, limit],
    )


def _line(
    run: Result, values: Sequence[float], said: Callable[[float], str], size: float
) -> Series:
    minutes = [at / 60 for at in run["times"]]
    name = PAPER_NAMES[run["policy"]]
    colour, dashed = _STYLES[run["policy"]]
    return Series(
        name,
        minutes,
        [value / size for value in values],
        [
            f"{name}, {at:.1f} min: {said(value)}"
            for at, value in zip(minutes, values, strict=True)
        ],
        "line",
        colour,
        dashed,
    )


def _where(runs: Sequence[Result]) -> str:
    return f"{runs[0]['placement']} placement ({WORLDS[runs[0]['world']]})"


def _moves(result: Result, world: str) -> Plot:
    bars = []
    for policy in POLICIES[1:]:
        found = [run for run in runs_of(result, world) if run["policy"] == policy]
        if found:
            name = PAPER_NAMES[policy]
            bars.append(
                Series(
                    name,
                    [PLACEMENTS.index(run["placement"]) for run in found],
                    [run["moves"] for run in found],
                    [f"{title_of(run)}: {run['moves']:,} moves" for run in found],
                    "bar",
                    colour=POLICIES.index(policy),
                )
            )
    figure = "Beside the figures" if world == PAPER else "Figures 6 (3), 10 (3), 12"
    return Plot(
        f"{figure}: moves ({WORLDS[world]})",
        "Sessions moved in the whole run.",
        Axis("placement", log=False, labels=PLACEMENTS),
        Axis("moves", log=False),
        bars,
    )


def _thresholds(result: Result) -> Iterator[Plot]:
    for key, axis, part in (
        ("cov", Axis("cov, mean over time", log=False), "(1)"),
        ("moves", Axis("moves", log=False), "(2)"),
    ):
        yield Plot(
            f"Figure 14 {part}: {axis.title} by alpha and beta",
            "Nearest placement in the paper's simulation. Dashed: ours.",
            Axis("alpha", log=False),
            axis,
            list(_swept(result, key)),
            [sweep_table(result)] if part == "(1)" else [],
        )


def _swept(result: Result, key: str) -> Iterator[Series]:
    betas = sorted({run["beta"] for run in result["sweep"]})
    unit = unit_of(result["sweep"])
    for policy in ("ldm", "planned"):
        for number, beta in enumerate(betas):
            runs = sorted(
                (
                    r
                    for r in result["sweep"]
                    if (r["policy"], r["beta"]) == (policy, beta)
                ),
                key=lambda run: run["alpha"],
            )
            name = f"{PAPER_NAMES[policy]}, beta {load_text(beta, unit)}"
            yield Series(
                name,
                [run["alpha"] for run in runs],
                [run[key] for run in runs],
                [f"{name}, alpha {run['alpha']:g}: {run[key]:,.4g}" for run in runs],
                "path",
                colour=number,
                dashed=policy != "ldm",
            )
