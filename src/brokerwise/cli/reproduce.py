"""`brokerwise reproduce`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import LiveProgress
from brokerwise.cli.options import (
    Conf,
    Json,
    Master,
    Results,
    Seed,
    on_this_disk,
    parse_conf,
)
from brokerwise.cli.reproduce_balance import balance
from brokerwise.cli.reproduce_colocate import colocate
from brokerwise.cli.reproduced import print_reproduced
from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count

if TYPE_CHECKING:
    from brokerwise.experiments.provision_traces import Trace

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
    force: Annotated[
        bool, typer.Option("--force", help="Compute everything again.")
    ] = False,
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
    from brokerwise.experiments.provision import Experiment
    from brokerwise.experiments.provision import reproduce as run
    from brokerwise.report.reproduce_provision import text

    settings = parse_conf(conf)
    scales = {"spotify": spotify, "twitter": twitter}
    experiment = Experiment(
        traces=_traces(quick, scales, graphs, seed),
        thresholds=_thresholds(threshold),
        seed=seed,
        command=_command(out, quick, scales, graphs, threshold, seed),
    )
    progress = LiveProgress()
    result = run(
        experiment,
        out,
        session=lambda: progress.session(master, settings),
        progress=progress,
        force=force,
    )
    print_reproduced(
        result, out, text, {**progress.seconds, "total": progress.total}, json
    )


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
    force: Annotated[
        bool, typer.Option("--force", help="Compute everything again.")
    ] = False,
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
    from time import perf_counter

    from brokerwise.cli.countdown import counting_down
    from brokerwise.experiments import fill as experiments
    from brokerwise.experiments.fill_settings import every_cell
    from brokerwise.report.reproduce_fill import text

    if not 0 < seconds < float("inf"):
        raise InputError(f"--seconds: found {seconds:g}, expected more than 0")
    start = perf_counter()
    default = experiments.QUICK_INSTANCES if quick else experiments.FULL_INSTANCES
    experiment = experiments.Experiment(
        cells=every_cell(quick),
        instances=instances or default,
        seconds=seconds,
        seed=seed,
        command=_fill_command(out, quick, instances, seconds, seed),
    )
    with counting_down() as watch:
        result = experiments.reproduce(experiment, out, watch=watch, force=force)
    total = {"total": round(perf_counter() - start, 3)}
    print_reproduced(result, out, text, total, json)


def _fill_command(
    out: Path, quick: bool, instances: int | None, seconds: float, seed: int
) -> str:
    command = ["brokerwise", "reproduce", "fill", "--out", str(out)]
    command += ["--quick"] if quick else []
    command += ["--instances", str(instances)] if instances is not None else []
    command += ["--seconds", f"{seconds:g}", "--seed", str(seed)]
    return shlex.join(command)


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
    force: Annotated[
        bool, typer.Option("--force", help="Compute everything again.")
    ] = False,
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
    from time import perf_counter

    from brokerwise.cli.countdown import counting_down
    from brokerwise.experiments import overlay as experiments
    from brokerwise.experiments import overlay_settings, overlay_times
    from brokerwise.report.reproduce_overlay import text

    start = perf_counter()
    sites = [overlay_settings.Sites.read(path) for path in latency or []]
    experiment = experiments.Experiment(
        cells=overlay_settings.every_cell(quick=quick, samples=samples, sites=sites),
        timing=overlay_times.QUICK if quick else overlay_times.FULL,
        seed=seed,
        command=_overlay_command(out, quick, latency or [], samples, seed),
    )
    with counting_down() as watch:
        result = experiments.reproduce(experiment, out, watch=watch, force=force)
    total = {"total": round(perf_counter() - start, 3)}
    print_reproduced(result, out, text, total, json)


def _overlay_command(
    out: Path, quick: bool, latency: list[Path], samples: int | None, seed: int
) -> str:
    command = ["brokerwise", "reproduce", "overlay", "--out", str(out)]
    command += ["--quick"] if quick else []
    for path in latency:
        command += ["--latency", path.name]
    command += ["--samples", str(samples)] if samples is not None else []
    command += ["--seed", str(seed)]
    return shlex.join(command)


reproduce.command(short_help="A running fleet: loads over time, cov, moves.")(balance)
reproduce.command(short_help="Topics that share brokers: accuracy, brokers, targets.")(
    colocate
)


def _traces(
    quick: bool, scales: dict[str, float | None], graphs: Path | None, seed: int
) -> "list[Trace]":
    from brokerwise.experiments import provision_traces
    from brokerwise.experiments.provision import FULL, QUICK

    default = QUICK if quick else FULL
    asked = {
        name: default[name] if scale is None else scale
        for name, scale in scales.items()
    }
    found = [
        provision_traces.shaped(name, scale, seed)
        for name, scale in asked.items()
        if scale != 0
    ]
    if graphs is not None:
        found += provision_traces.graphs(graphs)
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


def _command(
    out: Path,
    quick: bool,
    scales: dict[str, float | None],
    graphs: Path | None,
    threshold: str,
    seed: int,
) -> str:
    """How to get these results again, at another place too."""
    command = ["brokerwise", "reproduce", "provision", "--out", str(out)]
    command += ["--quick"] if quick else []
    for name, scale in scales.items():
        command += [f"--{name}", f"{scale:g}"] if scale is not None else []
    command += ["--graphs", graphs.name] if graphs is not None else []
    command += ["--threshold", threshold, "--seed", str(seed)]
    return shlex.join(command)
