"""`brokerwise reproduce`."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import (
    Conf,
    Json,
    Master,
    Results,
    Seed,
    on_this_disk,
    parse_conf,
)
from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count

if TYPE_CHECKING:
    from brokerwise.reproduce.account import Account
    from brokerwise.reproduce.balance_settings import LiveCell
    from brokerwise.reproduce.provision_settings import Trace
    from brokerwise.reproduce.runner import Record, Watch

EXIT_VIOLATED = 1

Words = Mapping[str, str | int | list[str] | None]
Force = Annotated[bool, typer.Option("--force", help="Compute everything again.")]

reproduce = typer.Typer(
    name="reproduce",
    help="""The papers' tables and figures, ours beside theirs.

    Results are kept one by one: the same command goes on where it was interrupted.

    \b
    Example:
      brokerwise reproduce provision --quick --out out/reproduced
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@reproduce.callback()
def _group() -> None:
    """The papers' tables and figures, ours beside theirs."""


@reproduce.command(short_help="The cheapest fleet: savings, steps, bounds, run times.")
def provision(
    out: Results,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small traces: minutes, not an hour.")
    ] = False,
    graphs: Annotated[
        Path | None,
        typer.Option(
            help="Also real graphs: a directory of mastodon_*, crates_*, npm_* files.",
            callback=on_this_disk,
        ),
    ] = None,
    spotify: Annotated[
        float | None,
        typer.Option(help="Scale of the Spotify-shaped trace; 0 leaves it out."),
    ] = None,
    twitter: Annotated[
        float | None,
        typer.Option(help="Scale of the Twitter-shaped trace; 0 leaves it out."),
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Thresholds, with commas.")
    ] = "10,100,1000",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Setty et al. (ICDCS 2014), figures 2 to 12: what each optimisation saves.

    Spotify-shaped (scale 1) and Twitter-shaped (scale 0.1) traces, and real graphs
    if there are any: the naive plan, the paper's steps (a) to (e), and ours, with
    both lower bounds, on c3.large and c3.xlarge. Every plan is checked; exits 1 if
    one is wrong. Writes results.json, summary.md, report.html and a profile of each
    trace.

    \b
    Example:
      brokerwise reproduce provision --quick --out out/reproduced
    """
    from brokerwise.reproduce import provision as experiments
    from brokerwise.reproduce.provision_page import account

    settings = parse_conf(conf)
    scales = {"spotify": spotify, "twitter": twitter}
    words: Words = {
        **{name: None if s is None else f"{s:g}" for name, s in scales.items()},
        "graphs": None if graphs is None else graphs.name,
        "threshold": threshold,
        "seed": seed,
    }
    experiment = experiments.Experiment(
        traces=_traces(quick, scales, graphs, seed),
        thresholds=_thresholds(threshold),
        seed=seed,
        command=_command("provision", out, quick, words),
    )
    progress = LiveProgress()
    result = experiments.reproduce(
        experiment,
        out,
        session=lambda: progress.session(master, settings),
        progress=progress,
        force=force,
    )
    seconds = {**progress.seconds, "total": progress.total}
    _print(result, out, account, seconds, json)


@reproduce.command(short_help="A fixed fleet: data received, certificates, times.")
def fill(
    out: Results,
    quick: Annotated[
        bool, typer.Option("--quick", help="5 instances of each setting, not 50.")
    ] = False,
    instances: Annotated[
        int | None, typer.Option(min=1, help="Instances of each setting.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Most that `columns` may take for an instance.")
    ] = 10.0,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Lambert and Sakellariou (IEEE CLOUD 2018), tables I to IV, figures 2 to 13.

    What `greedy` (their GS), `mkp` (their MKPBS) and `columns` (beside their ILP)
    deliver, what is proven of it, and how long it takes, on all cores. Every filling
    is checked; exits 1 if one is wrong. Writes results.json, summary.md and
    report.html, also when interrupted: of what is complete.

    \b
    Example:
      brokerwise reproduce fill --quick --out out/reproduced-fill
    """
    from brokerwise.reproduce import fill as experiments
    from brokerwise.reproduce import fill_settings
    from brokerwise.reproduce.fill_page import account

    if not 0 < seconds < float("inf"):
        raise InputError(f"--seconds: found {seconds:g}, expected more than 0")
    default = experiments.QUICK_INSTANCES if quick else experiments.FULL_INSTANCES
    words: Words = {"instances": instances, "seconds": f"{seconds:g}", "seed": seed}
    experiment = experiments.Experiment(
        cells=fill_settings.every_cell(quick),
        instances=instances or default,
        seconds=seconds,
        seed=seed,
        command=_command("fill", out, quick, words),
    )
    _run(
        lambda watch: experiments.reproduce(experiment, out, watch=watch, force=force),
        out,
        account,
        json,
    )


@reproduce.command(short_help="Users and brokers: cost reduction ratios, gaps, times.")
def overlay(
    out: Results,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="10 samples of few sizes, not 100 of ten."),
    ] = False,
    latency: Annotated[
        list[Path] | None,
        typer.Option(
            help="Also users and brokers at the sites of a matrix of latencies (CSV); "
            "can be repeated.",
            callback=on_this_disk,
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Networks of each setting.")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Zhao and Wu (IEEE SECON 2011), figures 9 and 10, table I.

    What random wiring costs over what `greedy`, `clustering`, `steiner_literal` (their
    mixing), `steiner` (our variant of it) and `local` (ours) cost, by users and by the
    ratio of access to core link costs, with costs in the plane, independent ones, and
    where the core matters; and how long they take. Uses all cores. Every wiring is
    checked; exits 1 if one is wrong. Writes
    results.json, summary.md and report.html, also when interrupted: of what is
    complete.

    \b
    Example:
      brokerwise reproduce overlay --quick --out out/reproduced-overlay
    """
    from brokerwise.reproduce import overlay as experiments
    from brokerwise.reproduce import overlay_settings
    from brokerwise.reproduce.overlay_page import account

    files = latency or []
    sites = [overlay_settings.Sites.read(path) for path in files]
    words: Words = {
        "latency": [path.name for path in files],
        "samples": samples,
        "seed": seed,
    }
    experiment = experiments.Experiment(
        cells=overlay_settings.every_cell(quick=quick, samples=samples, sites=sites),
        timing=experiments.QUICK_TIMES if quick else experiments.FULL_TIMES,
        seed=seed,
        command=_command("overlay", out, quick, words),
    )
    _run(
        lambda watch: experiments.reproduce(experiment, out, watch=watch, force=force),
        out,
        account,
        json,
    )


@reproduce.command(short_help="A running fleet: loads over time, cov, moves.")
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
    force: Force = False,
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
    from brokerwise.reproduce import balance as experiments
    from brokerwise.reproduce import balance_settings
    from brokerwise.reproduce.balance_page import account

    if not 1 <= minutes < float("inf"):
        raise InputError(f"--minutes: found {minutes:g}, expected 1 or more")
    asked = f"{minutes:g}" if live else None
    words: Words = {"live": live, "minutes": asked, "seed": seed}
    experiment = experiments.Experiment(
        cells=balance_settings.every_cell(quick=quick, seed=seed),
        live=balance_settings.live_cells(minutes, seed) if live else (),
        seed=seed,
        command=_command("balance", out, quick, words),
    )
    _run(
        lambda watch: experiments.reproduce(
            experiment, out, watch=watch, play=_play if live else None, force=force
        ),
        out,
        account,
        json,
    )


def _play(cell: "LiveCell") -> "Record":
    from brokerwise.cli.fleet_options import progress
    from brokerwise.reproduce.balance_live import run_live

    progress(f"{cell.title}: {cell.minutes:g} minutes")
    return run_live(cell, tell=progress)


@reproduce.command(short_help="Topics that share brokers: accuracy, brokers, targets.")
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
    force: Force = False,
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
    from brokerwise.reproduce import colocate as experiments
    from brokerwise.reproduce import colocate_settings
    from brokerwise.reproduce.colocate_page import account

    named = None if measured is None else measured.name
    words: Words = {"measured": named, "seed": seed}
    experiment = experiments.Experiment(
        setting=colocate_settings.QUICK if quick else colocate_settings.FULL,
        measured=_measured(measured),
        seed=seed,
        command=_command("colocate", out, quick, words),
    )
    _run(
        lambda watch: experiments.reproduce(experiment, out, watch=watch, force=force),
        out,
        account,
        json,
    )


def _measured(named: Path | None) -> Path | None:
    """The directory that was named, or the one that comes with the program."""
    from brokerwise.reproduce import colocate_settings

    if named is None:
        bundled = colocate_settings.bundled_latency()
        return bundled if bundled.is_dir() else None
    if not named.is_dir():
        raise InputError(
            f"--measured {named}: no such directory",
            hint="`brokerwise latency measure --out DIR` makes one.",
        )
    return named


def _traces(
    quick: bool, scales: dict[str, float | None], graphs: Path | None, seed: int
) -> "list[Trace]":
    from brokerwise.reproduce import provision_settings
    from brokerwise.reproduce.provision import FULL, QUICK

    default = QUICK if quick else FULL
    asked = {
        name: default[name] if scale is None else scale
        for name, scale in scales.items()
    }
    found = [
        provision_settings.shaped(name, scale, seed)
        for name, scale in asked.items()
        if scale != 0
    ]
    if graphs is not None:
        found += provision_settings.graphs(graphs)
    if not found:
        raise InputError("nothing to do: both scales are 0, and there are no --graphs")
    return found


def _thresholds(text: str) -> tuple[int, ...]:
    found = []
    for part in text.split(","):
        if not part.strip().isdecimal():
            raise InputError(
                f"--threshold: found {text!r}, expected numbers with commas between"
            )
        found.append(checked_count(int(part), "--threshold", least=1))
    return tuple(dict.fromkeys(found))


def _command(paper: str, out: Path, quick: bool, words: Words) -> str:
    """How to get these results again, at another place too. An option that is None was
    not given; one with a list is given several times."""
    command = ["brokerwise", "reproduce", paper, "--out", str(out)]
    command += ["--quick"] if quick else []
    for name, value in words.items():
        if value is True:
            command.append(f"--{name}")
        elif isinstance(value, list):
            command += [word for each in value for word in (f"--{name}", each)]
        elif value is not None and value is not False:
            command += [f"--{name}", str(value)]
    return shlex.join(command)


def _run(
    reproduced: "Callable[[Watch], Record]",
    out: Path,
    account: "Callable[[Record], Account]",
    json: bool,
) -> None:
    """Run an experiment with a countdown, and print what came of it."""
    from brokerwise.cli.countdown import counting_down

    start = perf_counter()
    with counting_down() as watch:
        result = reproduced(watch)
    seconds = {"total": round(perf_counter() - start, 3)}
    _print(result, out, account, seconds, json)


def _print(
    result: "Record",
    out: Path,
    account: "Callable[[Record], Account]",
    seconds: dict[str, float],
    json: bool,
) -> None:
    """What was found, and where it is; exits 1 if a check failed."""
    from brokerwise.reproduce.account import text

    if json:
        print_json({**result, "out": str(out), "seconds": seconds})
    else:
        print_result(text(account(result)))
        print_result(f"Report: {out / 'report.html'}   Summary: {out / 'summary.md'}")
    if result["problems"]:
        raise typer.Exit(EXIT_VIOLATED)
