"""`brokerwise reproduce balance`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.options import Json, Results, Seed
from brokerwise.cli.reproduced import print_reproduced
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.experiments.balance_live_settings import LiveCell


def balance(
    out: Results,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smaller simulation and 3 seeds, not 20."),
    ] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Also the emergency city, on real processes."),
    ] = False,
    minutes: Annotated[
        float, typer.Option(help="How long each live run takes; the paper's take 30.")
    ] = 5.0,
    seed: Seed = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Compute everything again.")
    ] = False,
    json: Json = False,
) -> None:
    """Nguyen et al. (DEBS 2019), figures 5 to 14.

    Loads of brokers over time, max load, cov and moves without balancing, with LDM,
    SDM and GSH, and with `planned` (ours), for random, round-robin and nearest
    placement: in the emergency city and in the paper's simulation; alpha and beta;
    ours against LDM over 20 seeds. With --live the city also runs on real processes,
    for about two minutes more than --minutes each, and what everyone got is compared
    with an independent computation. Every run is checked; exits 1 if one is wrong.
    Writes results.json, summary.md and report.html, also when interrupted: of what is
    complete.

    \b
    Example:
      brokerwise reproduce balance --quick --out out/reproduced-balance
    """
    from time import perf_counter

    from brokerwise.cli.countdown import counting_down
    from brokerwise.experiments import balance as experiments
    from brokerwise.experiments.balance_settings import every_cell
    from brokerwise.report.reproduce_balance import text

    if not 1 <= minutes < float("inf"):
        raise InputError(f"--minutes: found {minutes:g}, expected 1 or more")
    start = perf_counter()
    experiment = experiments.Experiment(
        cells=every_cell(quick=quick, seed=seed),
        live=_live_cells(minutes, seed) if live else (),
        seed=seed,
        command=_balance_command(out, quick, live, minutes, seed),
    )
    with counting_down() as watch:
        result = experiments.reproduce(
            experiment, out, watch=watch, play=_play if live else None, force=force
        )
    total = {"total": round(perf_counter() - start, 3)}
    print_reproduced(result, out, text, total, json)


def _live_cells(minutes: float, seed: int) -> "Sequence[LiveCell]":
    from brokerwise.experiments.balance_live_settings import live_cells

    return live_cells(minutes, seed)


def _play(cell: "LiveCell") -> dict[str, Any]:
    from brokerwise.cli.fleet_options import progress
    from brokerwise.experiments.balance_live import run_live

    progress(f"{cell.title}: {cell.minutes:g} minutes")
    return run_live(cell, tell=progress)


def _balance_command(
    out: Path, quick: bool, live: bool, minutes: float, seed: int
) -> str:
    command = ["brokerwise", "reproduce", "balance", "--out", str(out)]
    command += ["--quick"] if quick else []
    command += ["--live", "--minutes", f"{minutes:g}"] if live else []
    command += ["--seed", str(seed)]
    return shlex.join(command)
