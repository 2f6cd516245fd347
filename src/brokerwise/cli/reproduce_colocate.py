"""`brokerwise reproduce colocate`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from brokerwise.cli.options import Json, Results, Seed, on_this_disk
from brokerwise.cli.reproduced import print_reproduced
from brokerwise.model.errors import InputError


def colocate(
    out: Results,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer configurations and requests: a minute."),
    ] = False,
    measured: Annotated[
        Path | None,
        typer.Option(
            help="Table I also on this latency data, as `latency measure` writes it; "
            "without it on what comes with the program.",
            callback=on_this_disk,
        ),
    ] = None,
    seed: Seed = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Compute everything again.")
    ] = False,
    json: Json = False,
) -> None:
    """Khare et al. (SEC 2018), table I, figures 1 to 4.

    What latencies of topics that share a broker depend on, how well the paper's recipe
    and our model predict them, and what FFD, LFS, their hybrid and `search` (ours)
    make of that: brokers, planning time, processor use, p90, and what misses the
    target, by the number of topics and by k'. On a simulated broker of four cores, as
    theirs had; Table I also on measured data of our own. Uses all cores. Every cell is
    checked; exits 1 if one is wrong. Writes results.json, summary.md and report.html,
    also when interrupted: of what is complete.

    \b
    Example:
      brokerwise reproduce colocate --quick --out out/reproduced-colocate
    """
    from time import perf_counter

    from brokerwise.cli.countdown import counting_down
    from brokerwise.experiments import colocate as experiments
    from brokerwise.experiments.colocate_settings import FULL, QUICK
    from brokerwise.report.reproduce_colocate import text

    start = perf_counter()
    experiment = experiments.Experiment(
        setting=QUICK if quick else FULL,
        measured=_measured(measured),
        seed=seed,
        command=_command(out, quick, measured, seed),
    )
    with counting_down() as watch:
        result = experiments.reproduce(experiment, out, watch=watch, force=force)
    total = {"total": round(perf_counter() - start, 3)}
    print_reproduced(result, out, text, total, json)


def _measured(named: Path | None) -> Path | None:
    """The directory that was named, or the one that comes with the program."""
    from brokerwise.experiments.colocate_settings import bundled_latency

    if named is None:
        bundled = bundled_latency()
        return bundled if bundled.is_dir() else None
    if not named.is_dir():
        raise InputError(
            f"--measured {named}: no such directory",
            hint="`brokerwise latency measure --out DIR` makes one.",
        )
    return named


def _command(out: Path, quick: bool, measured: Path | None, seed: int) -> str:
    command = ["brokerwise", "reproduce", "colocate", "--out", str(out)]
    command += ["--quick"] if quick else []
    command += ["--measured", measured.name] if measured is not None else []
    command += ["--seed", str(seed)]
    return shlex.join(command)
