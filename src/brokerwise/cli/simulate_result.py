"""What `brokerwise simulate balance --json` prints, and what reports are made from."""

from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from brokerwise.cli.console import LiveProgress
from brokerwise.cli.reporting import write_report
from brokerwise.cli.simulate_request import Request

if TYPE_CHECKING:
    from brokerwise.runtime.simulation.simulator import SimulationOptions
    from brokerwise.runtime.simulation.world import World

_BESIDE = ("max_load", "cov", "max_load_end", "cov_end")


def simulate_result(
    request: Request, command: str, progress: LiveProgress
) -> dict[str, Any]:
    """Run what is asked for, and the same without balancing; write the report."""
    from brokerwise.runtime.simulation.result import figures, over_time
    from brokerwise.runtime.simulation.simulator import simulate

    with progress.stage("world"):
        world = request.surroundings.world()
    settings = request.simulation(world.period_seconds)
    with progress.stage("simulate"):
        run = simulate(world, settings)
    found = figures(run)
    result = {
        "kind": "simulate balance",
        "status": "done",
        "objective": found["max_load_end"],
        "algorithm": found["policy"],
        **found,
        "without": _without(world, settings, progress),
        "world": world.name,
        "subscribers": world.users,
        "minutes": world.seconds / 60,
        "options": _options(request),
        "seed": request.seed,
        "version": version("brokerwise"),
        "command": command,
        "seconds": {**progress.seconds, "total": progress.total},
        "details": over_time(run),
    }
    write_report(request.report, result)
    return result


def _without(
    world: "World", settings: "SimulationOptions", progress: LiveProgress
) -> dict[str, float] | None:
    """The same run if nobody moves; None if that is what was asked for."""
    from brokerwise.runtime.simulation.result import figures
    from brokerwise.runtime.simulation.simulator import simulate

    balancing = settings.balancing
    if balancing.options.policy == "none":
        return None
    options = replace(balancing.options, policy="none")
    with progress.stage("without"):
        run = simulate(
            world, replace(settings, balancing=replace(balancing, options=options))
        )
    found = figures(run)
    return {key: found[key] for key in _BESIDE}


def _options(request: Request) -> dict[str, Any]:
    told = asdict(request.balancing)
    del told["policy"]
    return {
        **told,
        "report_seconds": request.report_seconds,
        "delay": request.delay,
        "noise": request.noise,
    }
