"""Figures 5 to 14 of `reproduce balance`, in numbers."""

from brokerwise.report.html import Table
from brokerwise.report.numbers import percent
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.reproduce_balance_cells import (
    LIVE,
    PAPER_NAMES,
    WORLDS,
    Result,
    cov_text,
    load_text,
    runs_of,
    title_of,
    unit_of,
)

_NONE = "-"
_HOLDS = {True: "yes", False: "no", None: "not run yet"}


def tables(result: Result) -> list[Table]:
    """All of them that have rows."""
    found = [
        claims_table(result),
        *(world_table(result, world) for world in WORLDS),
        delivery_table(result),
        sweep_table(result),
        seeds_table(result),
    ]
    return [table for table in found if table.rows]


def compared(result: Result) -> list[Table]:
    """What a terminal has room for."""
    found = [
        *(world_table(result, world) for world in WORLDS),
        delivery_table(result),
        sweep_table(result),
    ]
    return [table for table in found if table.rows]


def claims_table(result: Result) -> Table:
    return Table(
        "What the paper says of its figures, and what we find",
        ("figures", "paper", "ours", "so in ours"),
        [
            (c["figures"], c["paper"], c["ours"], _HOLDS[c["holds"]])
            for c in result["claims"]
        ],
    )


def world_table(result: Result, world: str) -> Table:
    """Means are over the time of a run."""
    runs = runs_of(result, world)
    unit = unit_of(runs)
    return Table(
        _world_caption(runs, world),
        (
            *("placement, policy", "cov", "at the end", "max load", "at the end"),
            *("mean at the end", "bound", "gap", "moves", "decisions"),
        ),
        [
            (
                title_of(run),
                cov_text(run["cov"]),
                cov_text(run["cov_end"]),
                *(
                    load_text(run[key], unit)
                    for key in ("max_load", "max_load_end", "mean_load_end")
                ),
                _NONE if run["bound"] is None else load_text(run["bound"], unit),
                _NONE if run["gap"] is None else gap_text(run["gap"]),
                f"{run['moves']:,}",
                f"{run['decisions']:,}",
            )
            for run in runs
        ],
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
    return Table(
        "On real processes: deliveries judged by an independent computation, and what "
        "balancing changed from before the first move, while users still came, to the "
        "end",
        (
            *("placement, policy", "cov before", "after", "max load before", "after"),
            *("moves", "deliveries", "lost", "twice", "wrong"),
            *("beats skipped", "Spark's share"),
        ),
        [_delivery_row(run) for run in runs_of(result, LIVE)],
    )


def _delivery_row(run: Result) -> tuple[str, ...]:
    unit = unit_of([run])
    return (
        title_of(run),
        cov_text(run["cov_before"]),
        cov_text(run["cov_after"]),
        load_text(run["max_before"], unit),
        load_text(run["max_after"], unit),
        f"{run['moves']:,}",
        f"{run['deliveries']:,}",
        f"{run['lost']:,}",
        f"{run['twice']:,}",
        f"{run['wrong']:,}",
        f"{run['skipped']:,}",
        percent(run["spark_share"]),
    )


def sweep_table(result: Result) -> Table:
    """Figure 14."""
    runs = sorted(result["sweep"], key=lambda r: (r["policy"], r["alpha"], r["beta"]))
    unit = unit_of(runs)
    return Table(
        "Figure 14: thresholds, with nearest placement in the paper's simulation",
        (
            *("policy, alpha, beta", "cov", "at the end", "max load"),
            *("moves", "decisions"),
        ),
        [
            (
                f"{PAPER_NAMES[run['policy']]}, {run['alpha']:g}, "
                f"{load_text(run['beta'], unit)}",
                cov_text(run["cov"]),
                cov_text(run["cov_end"]),
                load_text(run["max_load"], unit),
                f"{run['moves']:,}",
                f"{run['decisions']:,}",
            )
            for run in runs
        ],
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
