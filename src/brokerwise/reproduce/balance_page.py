"""What is said of `reproduce balance`: Figures 5 to 14, and ours over many seeds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from brokerwise.reproduce.account import (
    Account,
    Block,
    Result,
    Said,
    Section,
    claim_words,
    claims_said,
    claims_table,
    column,
    counted_if,
    filled,
    matching,
    series,
    table,
    verdict,
)
from brokerwise.reproduce.balance_settings import CITY, LIVE, PAPER, PLACEMENTS
from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.results import gap_text
from brokerwise.show.tables import Fact, Table

_CITY, _LIVE, _PAPER = CITY.key, LIVE, PAPER.key
WORLDS = {
    _CITY: "the emergency city, simulated",
    _LIVE: "the emergency city on real processes",
    _PAPER: "the paper's simulation",
}
PAPER_NAMES = {
    "none": "no balancing",
    "ldm": "LDM",
    "sdm": "SDM",
    "gsh": "GSH",
    "ldm+gsh": "LDM + GSH",
    "sdm+gsh": "SDM + GSH",
    "planned": "planned (ours)",
    "planned@ldm": "planned with LDM's moves",
    "ldm@ldm": "LDM, as early and in steps",
}
POLICIES = tuple(PAPER_NAMES)
"""In the order in which they are shown."""
_UNITS = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))


def runs_of(result: Result, world: str, placement: str | None = None) -> list[Result]:
    """The runs of a world's figures, placements and policies in order."""
    found = result["live"] if world == _LIVE else result["figures"]
    runs = [
        run
        for run in found
        if run["world"] == world and placement in (None, run["placement"])
    ]
    return sorted(
        runs,
        key=lambda r: (
            PLACEMENTS.index(r["placement"]),
            POLICIES.index(r["policy"]),
        ),
    )


def run_of(result: Result, world: str, placement: str, policy: str) -> Result | None:
    runs = runs_of(result, world, placement)
    return next((run for run in runs if run["policy"] == policy), None)


def unit_of(runs: Iterable[Result]) -> tuple[float, str]:
    """What loads of these runs are written in: bytes a second over this, its name."""
    most = max((run["max_load"] for run in runs), default=0)
    return next(((size, name) for size, name in _UNITS if most >= size), (1.0, "B/s"))


def load_text(load: float, unit: tuple[float, str]) -> str:
    size, name = unit
    return f"{significant(load / size)} {name}"


def cov_text(cov: float) -> str:
    return f"{cov:.3f}"


def title_of(run: Result) -> str:
    return f"{run['placement']}, {PAPER_NAMES[run['policy']]}"


# Tables


def tables(result: Result) -> list[Table]:
    """All of them that have rows."""
    claims = claims_table(
        "What the paper says of its figures, and what we find", result["claims"]
    )
    return filled(claims, *_measured(result), seeds_table(result))


def compared(result: Result) -> list[Table]:
    """What a terminal has room for."""
    return filled(*_measured(result))


def _measured(result: Result) -> list[Table]:
    worlds = [world_table(result, world) for world in WORLDS]
    return [*worlds, delivery_table(result), sweep_table(result)]


def world_table(result: Result, world: str) -> Table:
    """Means are over the time of a run."""
    runs = runs_of(result, world)
    load = partial(load_text, unit=unit_of(runs))
    return table(
        _world_caption(runs, world),
        [
            ("placement, policy", title_of),
            column("cov", "cov", cov_text),
            column("at the end", "cov_end", cov_text),
            column("max load", "max_load", load),
            column("at the end", "max_load_end", load),
            column("mean at the end", "mean_load_end", load),
            column("bound", "bound", load),
            column("gap", "gap", gap_text),
            column("moves", "moves"),
            column("decisions", "decisions"),
        ],
        runs,
    )


def _world_caption(runs: list[Result], world: str) -> str:
    if not runs:
        return WORLDS[world]
    run = runs[0]
    return (
        f"{_first_upper(WORLDS[world])}: {run['brokers']} brokers, "
        f"{run['subscribers']:,} subscribers, {run['minutes']:g} minutes, alpha "
        f"{run['alpha']:g}, beta {load_text(run['beta'], unit_of(runs))}; cov and max "
        "load are means over time"
    )


def delivery_table(result: Result) -> Table:
    """Of live runs: what everyone got, and what it took."""
    return table(
        "On real processes: deliveries judged by an independent computation, and what "
        "balancing changed from before the first move, while users still came, to the "
        "end",
        [
            ("placement, policy", title_of),
            column("cov before", "cov_before", cov_text),
            column("after", "cov_after", cov_text),
            (
                "max load before",
                lambda run: load_text(run["max_before"], unit_of([run])),
            ),
            ("after", lambda run: load_text(run["max_after"], unit_of([run]))),
            *(column(key, key) for key in ("moves", "deliveries")),
            *(column(key, key) for key in ("lost", "twice", "wrong")),
            column("beats skipped", "skipped"),
            column("Spark's share", "spark_share", percent),
        ],
        runs_of(result, _LIVE),
    )


def sweep_table(result: Result) -> Table:
    """Figure 14."""
    runs = sorted(result["sweep"], key=lambda r: (r["policy"], r["alpha"], r["beta"]))
    load = partial(load_text, unit=unit_of(runs))

    def label(run: Result) -> str:
        return f"{PAPER_NAMES[run['policy']]}, {run['alpha']:g}, {load(run['beta'])}"

    return table(
        "Figure 14: thresholds, with nearest placement in the paper's simulation",
        [
            ("policy, alpha, beta", label),
            column("cov", "cov", cov_text),
            column("at the end", "cov_end", cov_text),
            column("max load", "max_load", load),
            column("moves", "moves"),
            column("decisions", "decisions"),
        ],
        runs,
    )


def seeds_table(result: Result) -> Table:
    """Ours and the paper's, seed by seed."""
    seeds = result["seeds"]
    names = [seeds["paper"], *seeds["ours"]]
    return Table(
        "Over seeds: nearest placement, the paper's simulation",
        (
            "seed",
            *(f"{key}, {PAPER_NAMES[n]}" for key in ("cov", "moves") for n in names),
        ),
        [
            (
                f"{row['seed']}",
                *(f"{row[name]['cov']:.4f}" for name in names),
                *(f"{row[name]['moves']:,}" for name in names),
            )
            for row in seeds["rows"]
        ],
    )


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


# Figures


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
    (_CITY, "random", "loads"): "Figure 5",
    (_CITY, "random", "metrics"): "Figure 6",
    (_CITY, "round-robin", "loads"): "Figure 7",
    (_CITY, "nearest", "loads"): "Figures 8, 9",
    (_CITY, "nearest", "metrics"): "Figures 10, 11",
    (_PAPER, "nearest", "loads"): "Figure 13",
}


def plots(result: Result) -> Iterator[Plot]:
    """What there is of: loads of brokers, then max load, cov and moves by placement;
    Figure 12; Figure 14."""
    for world in (_CITY, _LIVE, _PAPER):
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
    return bool(run["world"] != _PAPER or run["placement"] == "nearest")


def _figure(run: Result, what: str) -> str:
    world = _CITY if run["world"] == _LIVE else run["world"]
    return _FIGURES.get((world, run["placement"], what), "Beside the figures")


def _loads(run: Result) -> Plot:
    unit = unit_of([run])
    lines: dict[str, Sequence[float]] = {
        f"b{broker}": values
        for broker, values in enumerate(zip(*run["loads"], strict=True))
    }
    lines["mean"] = [sum(row) / len(row) for row in run["loads"]]
    return Plot(
        f"{_figure(run, 'loads')}: {title_of(run)} ({WORLDS[run['world']]})",
        f"Load of each broker; {run['moves']:,} moves in {run['decisions']:,} "
        f"decisions, cov at the end {cov_text(run['cov_end'])}.",
        _MINUTES,
        Axis(f"load, {unit[1]}", log=False),
        [
            _over_time(run, name, values, partial(load_text, unit=unit), unit[0])
            for name, values in lines.items()
        ],
    )


def _over_time(
    run: Result,
    name: str,
    values: Sequence[float],
    said: Callable[[float], str],
    size: float = 1.0,
) -> Series:
    """A line over the minutes of a run, in units of this `size`."""
    minutes = [at / 60 for at in run["times"]]
    hover = [
        f"{name}, {at:.1f} min: {said(value)}"
        for at, value in zip(minutes, values, strict=True)
    ]
    shown = [value / size for value in values]
    return Series(name, minutes, shown, hover, "line", dashed=name == "mean")


def _max_load(runs: Sequence[Result]) -> Plot:
    unit = unit_of(runs)
    return Plot(
        f"{_figure(runs[0], 'metrics')} (1): max load, {_where(runs)}",
        "Load of the fullest broker at each time, by policy.",
        _MINUTES,
        Axis(f"max load, {unit[1]}", log=False),
        [
            _styled(
                run,
                [max(row) for row in run["loads"]],
                partial(load_text, unit=unit),
                unit[0],
            )
            for run in runs
        ],
    )


def _cov(runs: Sequence[Result]) -> Plot:
    alpha = runs[0]["alpha"]
    ends = [runs[0]["times"][0] / 60, runs[0]["times"][-1] / 60]
    limit = Series(
        f"alpha {alpha:g}", ends, [alpha] * 2, [f"alpha {alpha:g}"] * 2, "line", 3, True
    )
    lines = [_styled(run, run["cov_over_time"], cov_text) for run in runs]
    return Plot(
        f"{_figure(runs[0], 'metrics')} (2): cov, {_where(runs)}",
        "Standard deviation of the brokers' loads over their mean, by policy. Above "
        "the dashed line sessions are moved, if the mean load is above beta.",
        _MINUTES,
        _COV,
        [*lines, limit],
    )


def _styled(
    run: Result,
    values: Sequence[float],
    said: Callable[[float], str],
    size: float = 1.0,
) -> Series:
    """The line of a run's policy."""
    colour, dashed = _STYLES[run["policy"]]
    line = _over_time(run, PAPER_NAMES[run["policy"]], values, said, size)
    return replace(line, colour=colour, dashed=dashed)


def _where(runs: Sequence[Result]) -> str:
    return f"{runs[0]['placement']} placement ({WORLDS[runs[0]['world']]})"


def _moves(result: Result, world: str) -> Plot:
    bars = []
    for policy in POLICIES[1:]:
        found = [run for run in runs_of(result, world) if run["policy"] == policy]
        if found:
            bars.append(
                Series(
                    PAPER_NAMES[policy],
                    [PLACEMENTS.index(run["placement"]) for run in found],
                    [run["moves"] for run in found],
                    [f"{title_of(run)}: {run['moves']:,} moves" for run in found],
                    "bar",
                    colour=POLICIES.index(policy),
                )
            )
    figure = "Beside the figures" if world == _PAPER else "Figures 6 (3), 10 (3), 12"
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
            runs = matching(result["sweep"], policy=policy, beta=beta)
            points = sorted((run["alpha"], run[key]) for run in runs)
            name = f"{PAPER_NAMES[policy]}, beta {load_text(beta, unit)}"
            yield series(
                name,
                points,
                partial("{}, alpha {:g}: {:,.4g}".format, name),
                colour=number,
                dashed=policy != "ldm",
            )


# In words


def answer(result: Result) -> str:
    """The result in a sentence or two."""
    return " ".join(
        [
            *_near_words(result, _PAPER),
            *_seed_words(result),
            *claim_words(result["claims"], " of its figures"),
        ]
    )


def _near_words(result: Result, world: str) -> Iterator[str]:
    """Nearest placement: what each policy makes of it."""
    none = run_of(result, world, "nearest", "none")
    if none is None:
        yield "The runs without balancing are not there yet."
        return
    parts = []
    for policy in ("ldm", "gsh", "planned"):
        run = run_of(result, world, "nearest", policy)
        if run is not None:
            parts.append(
                f"{PAPER_NAMES[policy]} to {cov_text(run['cov'])} with "
                f"{counted(run['moves'], 'move')}"
            )
    yield (
        f"With nearest placement cov is {cov_text(none['cov'])} on average over time; "
        f"{', '.join(parts)}."
        if parts
        else f"With nearest placement cov is {cov_text(none['cov'])}."
    )


def _seed_words(result: Result) -> Iterator[str]:
    found = result["seeds"]
    if found["rows"]:
        ours = found["compared"][found["ours"][0]]
        yield (
            f"Over {counted(len(found['rows']), 'seed')} planned has a lower cov than "
            f"{PAPER_NAMES[found['paper']]} in {ours['lower_cov']}: cov "
            f"{_change(ours['cov_over_papers'])} on average, for moves "
            f"{_change(ours['moves_over_papers'])}."
        )


def _and_so_on(found: Result) -> str:
    number = len(found["rows"])
    return "; ".join(
        f"{PAPER_NAMES[name]} has a lower cov in {one['lower_cov']} of {number}, in "
        f"{one['lower_cov_no_more_moves']} with no more moves (on average cov "
        f"{_change(one['cov_over_papers'])}, moves "
        f"{_change(one['moves_over_papers'])}, max load "
        f"{_change(one['max_load_over_papers'])})"
        for name, one in found["compared"].items()
    )


def _change(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * (ratio - 1):+.2f} %"


def seeds(result: Result) -> list[str]:
    """The comparison over seeds, and why it comes out so."""
    found = result["seeds"]
    if not found["rows"]:
        return []
    return [
        f"Over {counted(len(found['rows']), 'seed')}, against "
        f"{PAPER_NAMES[found['paper']]}: {_and_so_on(found)}.",
        "Under a budget planned does not wait for the mean load to exceed beta, and "
        "moves at most 1 % of all sessions at a time: early, but while it becomes "
        "clear who will be heavy. LDM, if it begins as early and goes in the same "
        "steps, comes to about the same: where sessions are so small, and every topic "
        "is on every broker, its choice of moves leaves little to gain; when to move "
        "is what matters.",
    ]


def bounds(result: Result) -> list[str]:
    """How far from the bound ours ends, and why that is far."""
    said = []
    for world in (_CITY, _PAPER):
        run = run_of(result, world, "nearest", "planned")
        if run is not None:
            unit = unit_of([run])
            over = run["max_load_end"] / run["mean_load_end"] - 1
            said.append(
                f"{world}: planned ends with a max load of "
                f"{load_text(run['max_load_end'], unit)}, {percent(max(0.0, over))} "
                f"above the mean that it leaves; the bound is "
                f"{load_text(run['bound'], unit)} (gap {gap_text(run['gap'])})"
            )
    if not said:
        return []
    return [
        f"{'; '.join(said)}. The bound counts every topic as received by one broker "
        "only, while here nearly every broker carries nearly every topic."
    ]


def live(result: Result) -> list[str]:
    """What real processes have shown."""
    runs = runs_of(result, _LIVE)
    if not runs:
        return []
    lost, twice, wrong, moves, handed = (
        sum(run[key] for run in runs)
        for key in ("lost", "twice", "wrong", "moves", "deliveries")
    )
    said = [
        f"On real processes, {counted(len(runs), 'run')}: {counted(moves, 'move')}, "
        f"{handed:,} deliveries, lost {lost:,}, twice {twice:,}, wrong {wrong:,}."
    ]
    said += _not_live(runs)
    nearest = [run for run in runs if run["placement"] == "nearest"]
    alone = next((run for run in nearest if run["policy"] == "none"), None)
    return said + [_live_run(run, alone) for run in nearest if run["moves"]]


def _not_live(runs: Sequence[Result]) -> list[str]:
    """Figures 5 to 7 cannot be judged where LDM and SDM moved nothing."""
    even = [
        run
        for run in runs
        if run["placement"] != "nearest" and run["policy"] in ("ldm", "sdm")
    ]
    if not even or any(run["moves"] for run in even):
        return []
    return [
        "Figures 5 to 7 are not reproduced on real processes: with random and "
        f"round-robin placement LDM and SDM made 0 moves in {counted(len(even), 'run')}"
        ", so that runs with and without them differ by noise only."
    ]


def _live_run(run: Result, alone: Result | None) -> str:
    """Loads rise while users come: what counts is the end, with and without."""
    unit = unit_of([run])
    without = ""
    if alone is not None:
        end = load_text(alone["max_after"], unit)
        without = f" (without balancing {end}, cov {cov_text(alone['cov_after'])})"
    return (
        f"Live, nearest, {PAPER_NAMES[run['policy']]}: cov "
        f"{cov_text(run['cov_before'])} -> {cov_text(run['cov_after'])}, max load "
        f"{load_text(run['max_before'], unit)} when it began, while users still came, "
        f"and {load_text(run['max_after'], unit)} at the end{without}, "
        f"{counted(run['moves'], 'move')}."
    )


# All of it


_QUESTION = "How well do policies keep a fleet balanced, and at how many moves?"
_NOTES = (
    '- The experiments of Nguyen et al., "Multistage Adaptive Load Balancing for Big '
    'Active Data Publish Subscribe Systems" (DEBS 2019). LDM, SDM and GSH are theirs; '
    "planned is ours. All run in the balancer that a live fleet has: it acts on what "
    "two reports in a row call for, and lets a session that moved rest for five "
    "minutes.",
    "- The emergency city stands in for the paper's prototype, whose map and "
    "mobility are not published: 5 brokers spread over a city, 400 users who live in "
    "its districts, seven channels. What a subscription brings is computed from the "
    "city's reports, as bytes on the wire in the last minute. The paper gives no "
    "thresholds for its prototype; ours are alpha 0.15, beta 50 kB/s, gamma 0.5.",
    "- The simulation is the paper's: 10 brokers, 10,000 subscribers, 1,000 topics, "
    "about 200,000 subscriptions, 30 minutes. Rates, and how they rise, are ours: "
    "docs/balance.md says which.",
    "- Load of a broker: each topic's bytes a second once for receiving it and once "
    "for each of its sessions. cov: the standard deviation of the brokers' loads over "
    "their mean. Both are looked at each 10 seconds; means are over the whole run, "
    "also its first minutes, in which nothing is moved because the mean load is below "
    "beta.",
    "- The paper prints no numbers in Figures 5 to 14: all in them are ours, and what "
    "its text says of them is compared in direction.",
    "- Lower means lower beyond noise: Figures 5 to 7 are run with ten seeds, each "
    "with and without a policy in the same world; the mean change must exceed two of "
    "its standard errors, and something must have been moved.",
    "- Checks, by code that shares nothing with planners and simulator: loads at the "
    "end pair by pair, cov at every moment, where each moved session came from.",
)


def account(result: Result) -> Account:
    """All that is said of a result of `reproduce balance`."""
    every = tables(result)
    found = Said(live(result)), Said(seeds(result)), Said(bounds(result))
    return Account(
        result=result,
        question=_QUESTION,
        answer=answer(result),
        verdict=_verdict(result),
        said=[*found, claims_said(result["claims"], "Figures ")],
        blocks=[Block([table]) for table in compared(result)],
        sections=[Section("How it was run", _NOTES), Section("Tables", tables=every)],
        tables=every,
        plots=list(plots(result)),
        facts=list(_facts(result)),
        inputs=[
            Fact("Runs", counted(result["runs"], "simulated run")),
            Fact("Processes", f"{result['processes']:,}"),
        ],
    )


def _verdict(result: Result) -> str:
    runs = counted(result["runs"] - result["runs_missing"], "simulated run")
    missing = result["runs_missing"] + result["live_missing"]
    return verdict(
        result,
        f"{runs} counted again",
        "loads pair by pair, cov, sessions and moves; none below its bound",
        missing=counted_if(missing, "run", " not done"),
        outdated=counted_if(result["runs_of_other_code"], "run"),
    )


def _facts(result: Result) -> Iterator[Fact]:
    for said in seeds(result)[:1]:
        found = result["seeds"]
        lower = found["compared"][found["ours"][0]]["lower_cov"]
        yield Fact("Seeds", f"cov lower in {lower} of {len(found['rows'])}", said)
    for said in live(result)[:1]:
        yield Fact("Live", "judged", said)
    for said in bounds(result):
        yield Fact("Bound", "max load at the end", said)
