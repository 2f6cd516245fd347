"""`brokerwise replay`."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State
from brokerwise.cli.options import Json, Report, on_this_disk
from brokerwise.cli.printable import printable
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import write_report
from brokerwise.cli.signals import run_until_told
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.approval import ApprovedPlan
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.load.traffic import Outcome, Period
    from brokerwise.storage.place import Place

EXIT_DIFFERENT = 1
MOST_WORKERS = 8


def replay(
    context: typer.Context,
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN|WORKLOAD|NETWORK]",
            help="The plan that the fleet runs, or what it was made for.",
        ),
    ] = None,
    state: State = DEFAULT_STATE,
    speed: Annotated[
        str, typer.Option(help="So many times faster than real time, or max.")
    ] = "max",
    workload: Annotated[
        str | None,
        typer.Option(help="The plan's workload or network, if it is elsewhere now."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Of a co-location plan: how long to send.")
    ] = 20.0,
    observed: Annotated[
        Path | None,
        typer.Option(
            help="Of a co-location plan: write latency data here.",
            callback=on_this_disk,
        ),
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Send one period of a plan through the fleet that runs it, and count.

    Connects every session of the plan, publishes every message of one period, and
    compares what subscribers got and what brokers and links carried with what was
    planned, message for message. Exits 0 if all is as planned and 1 if not. It
    connects as the plan's users: whoever uses their names meanwhile is hung up on.

    A co-location plan is not about counts: its topics are sent to at their rates, in
    real time, and each topic's latency is compared with its target. Exits 1 if one is
    missed.

    \b
    Examples:
      brokerwise up --plan out/plan --detach
      brokerwise replay
    """
    from brokerwise.runtime.fleet.files import read_fleet

    factor = parse_speed(speed)
    if report is not None:
        from brokerwise.show.page import refuse_unwritable

        refuse_unwritable(report)
    fleet = read_fleet(state)
    progress = LiveProgress()
    with progress.stage("plan"):
        approved = _approved(fleet, plan, workload)
    if approved.seed.kind == "colocate":
        result, text = _colocated(approved, fleet, seconds, observed, progress)
    elif observed is not None:
        raise InputError("--observed: found beside a plan that is not for co-location")
    else:
        result, text = _counted(approved, fleet, factor, progress)
    result["version"] = version("brokerwise")
    result["command"] = command_line(context, "plan")
    write_report(report, result)
    if json:
        print_json(result)
    else:
        print_result(printable(text))
        if report is not None:
            print_result(f"Report: {report}")
    if result["status"] not in ("equal", "met"):
        raise typer.Exit(EXIT_DIFFERENT)


def _counted(
    approved: "ApprovedPlan",
    fleet: "FleetFile",
    speed: float | None,
    progress: LiveProgress,
) -> tuple[dict[str, Any], str]:
    """What --json prints, and what is said otherwise."""
    from brokerwise.cli.replay_text import replay_result, replay_text

    period, outcome = _replayed(approved, fleet, speed)
    result = replay_result(period, outcome)
    result["seconds"] = {"replay": outcome.seconds, "total": progress.total}
    return result, replay_text(result)


def _colocated(
    approved: "ApprovedPlan",
    fleet: "FleetFile",
    seconds: float,
    observed: Path | None,
    progress: LiveProgress,
) -> tuple[dict[str, Any], str]:
    from brokerwise.cli.replay_colocated import colocated_text, replay_colocated

    result = replay_colocated(approved, fleet, seconds, observed, progress)
    result["seconds"] = {**progress.seconds, "total": progress.total}
    return result, colocated_text(result)


def parse_speed(text: str) -> float | None:
    """How many times faster than real time; None for `max`."""
    if text == "max":
        return None
    try:
        speed = float(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise InputError(f"--speed: found {text!r}, expected a number above 0, or max")
    return speed


def _approved(
    fleet: "FleetFile", plan: str | None, workload: str | None
) -> "ApprovedPlan":
    """The plan to replay: named, or the one that the fleet runs."""
    from brokerwise.runtime.fleet.approval import approved_plan
    from brokerwise.storage.place import Place

    given = Place(workload) if workload else None
    if plan is not None:
        place = Place(plan)
        if (place / "plan.json").exists() or not _is_basis(place):
            return approved_plan(place, given)
        given = place
    if not fleet.plan:
        raise InputError(
            "the fleet runs no plan: there is nothing to compare a replay with",
            hint="Run one: brokerwise up --plan DIR",
        )
    return approved_plan(Place(fleet.plan), given)


def _is_basis(place: "Place") -> bool:
    return any((place / name).exists() for name in ("workload.json", "network.json"))


def _replayed(
    approved: "ApprovedPlan", fleet: "FleetFile", speed: float | None
) -> "tuple[Period, Outcome]":
    import uvloop

    from brokerwise.cli.replay_progress import StageBars
    from brokerwise.runtime.load.replay import Replay
    from brokerwise.runtime.load.traffic import period_of

    period = period_of(approved)
    workers = min(len(os.sched_getaffinity(0)), MOST_WORKERS)
    with StageBars() as bars:
        replay = Replay(period, fleet, workers=workers, speed=speed, on_stage=bars.show)
        return period, run_until_told(replay.run(), uvloop.new_event_loop)
