"""`brokerwise replay` of a fleet that runs a co-location plan."""

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerwise.cli.console import LiveProgress
from brokerwise.cli.signals import run_until_told
from brokerwise.show.measurements import plan_lines, plan_result

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.approval import ApprovedPlan
    from brokerwise.runtime.fleet.files import FleetFile
    from brokerwise.runtime.load.colocated import PlanMeasurement
    from brokerwise.runtime.load.series import PlannedSeries
    from brokerwise.runtime.load.trials import Load

RATE_EACH = 4.0  # messages a second of one publisher, as in `latency measure`
MESSAGE_BYTES = 4096
PATIENCE_SECONDS = 30.0  # for what is under way at the end


def replay_colocated(
    approved: "ApprovedPlan",
    fleet: "FleetFile",
    seconds: float,
    observed: Path | None,
    progress: LiveProgress,
) -> dict[str, Any]:
    """Load a fleet with what its plan says, for so long; what --json prints."""
    from brokerwise.runtime.load.measure import Cores
    from brokerwise.runtime.load.series import PlannedSeries
    from brokerwise.storage.colocation_plan import read_colocation_plan
    from brokerwise.storage.place import Place

    stored = read_colocation_plan(Place(approved.seed.plan))
    load = _load(seconds)
    series = PlannedSeries(stored, approved.seed.plan, load, Cores((), ()), 0)
    output = _output(observed)
    try:
        with progress.stage(f"replay, {seconds:g} s"):
            seen = run_until_told(_measured(series, approved, fleet, load))
        if output is not None:
            _write(output, series, seen)
    except BaseException:
        if output is not None:
            output.abort()
        raise
    return _result(approved, series, seen, observed)


def colocated_text(result: dict[str, Any]) -> str:
    lines = plan_lines(result)
    if result["late"]:
        lines.append(
            f"{result['late']:,} messages were sent more than 5 ms after their time: "
            "this machine does not keep up with sending"
        )
    if result["censored"]:
        lines.append("not everything came in time: latencies are lower bounds")
    if result["observed"]:
        lines.append(f"Observed: {result['observed']}")
    return "\n".join(lines)


def _load(seconds: float) -> "Load":
    from brokerwise.runtime.load.trials import ROOM_SECONDS, Load

    return Load(
        messages=ceil(seconds * RATE_EACH),
        message_bytes=MESSAGE_BYTES,
        rate_each=RATE_EACH,
        longest=ROOM_SECONDS * ceil(seconds * RATE_EACH) / RATE_EACH + PATIENCE_SECONDS,
    )


async def _measured(
    series: "PlannedSeries", approved: "ApprovedPlan", fleet: "FleetFile", load: "Load"
) -> "PlanMeasurement":
    from brokerwise.model.colocation import ColocationPlan, TopicTable
    from brokerwise.runtime.fleet.operator import Operator
    from brokerwise.runtime.fleet.seeds import broker_name, replica_names
    from brokerwise.runtime.load.colocated import measure_at_once
    from brokerwise.runtime.load.replay import refuse_other_fleet

    status = await Operator(fleet).status()
    refuse_other_fleet(approved.seed, status)
    pids = {broker.broker: broker.pid for broker in status.brokers}
    plan, topics = approved.plan, approved.basis
    assert isinstance(plan, ColocationPlan) and isinstance(topics, TopicTable)
    order = plan.replicas.broker.argsort(kind="stable").tolist()
    names = replica_names(plan, topics)
    return await measure_at_once(
        fleet,
        series.topics,
        [names[row] for row in order],
        [pids[broker_name(number)] for number in range(series.wanted)],
        load,
        series.seed,
    )


def _output(observed: Path | None) -> Any:
    if observed is None:
        return None
    from brokerwise.storage.latency_data import HEADER
    from brokerwise.storage.output import Output
    from brokerwise.storage.place import Place

    return Output.begin(Place(str(observed)), HEADER, force=False)


def _write(output: Any, series: "PlannedSeries", seen: "PlanMeasurement") -> None:
    """Rows as latency data: `colocate --from PLAN --observed DIR` reads them."""
    from os import cpu_count

    from brokerwise.runtime.load.measure import machine
    from brokerwise.runtime.load.series import quality
    from brokerwise.storage.latency_data import stage_latency_data

    settings = {**series.settings(), **quality([seen.facts])}
    del settings["broker_cores"]  # all brokers share all cores of the machine
    header = stage_latency_data(
        output,
        seen.rows,
        source="measured",
        settings={**settings, "cores": cpu_count() or 1},
        machine=machine(),
        seconds=round(seen.facts.seconds, 3),
    )
    output.commit(header.as_json())


def _result(
    approved: "ApprovedPlan",
    series: "PlannedSeries",
    seen: "PlanMeasurement",
    observed: Path | None,
) -> dict[str, Any]:
    places = [(topic.broker, topic.position) for topic in series.topics]
    over = dict(zip(places, seen.over, strict=True))
    found = plan_result(series, seen.rows, over)
    missed = sum(not topic["met"] for topic in found["topics"])
    return {
        "kind": "replay colocate",
        "status": "missed" if missed else "met",
        "plan": approved.seed.plan,
        "plan_kind": approved.seed.kind,
        "digest": approved.seed.digest,
        "brokers": series.wanted,
        "messages": sum(topic["messages"] for topic in found["topics"]),
        **found,
        "late": seen.facts.late,
        "censored": seen.facts.is_censored,
        "cpu_share": seen.rows.cpu_share.tolist(),
        "observed": None if observed is None else str(observed),
    }
