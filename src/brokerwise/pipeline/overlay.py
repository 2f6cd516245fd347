"""From a network directory to wired users: a plan that is written, audited, and then
appears. All of it in this process, without Spark."""

from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import Any

from brokerwise.auditing.overlay import audit_staged_overlay, overlay_violations
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.pipeline.plans import refuse_wrong
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.planners.overlay.problem import Options
from brokerwise.planners.overlay.solve import solve
from brokerwise.storage.network import HEADER as NETWORK_HEADER
from brokerwise.storage.network import read_network, read_network_header
from brokerwise.storage.output import Output
from brokerwise.storage.overlay_plan import (
    OverlayHeader,
    stage_overlay_plan,
    write_overlay_plan,
)
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER

# What may be mistaken for a network, by the file that tells.
_OTHERS = {"workload.json": "a workload", "plan.json": "a plan"}
# Where a plan says its network is that is nowhere on disk.
_NOWHERE = Place("in memory")


@dataclass(frozen=True, eq=False)
class Wired:
    """A plan, and the network that it is for; `header` is None if it was infeasible
    and so nothing was written."""

    plan: OverlayPlan
    header: OverlayHeader | None
    network: Network
    digest: str


def overlay_directory(
    network: Place,
    out: Place,
    options: Options,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Wired:
    """Plan, write, audit, and let the plan appear, or nothing.

    A place that may not be written, and one that is no network, are refused before
    any work. A plan that the audit refuses, and one that is infeasible, is not
    written.
    """
    progress = progress or Stopwatch()
    refuse_others(network)
    digest = read_network_header(network).digest
    output = Output.begin(out, HEADER, force=force)
    try:
        with progress.stage("read"):
            read = read_network(network)
        plan = solve(read, replace(options, stage=progress.stage))
        if plan.status in WITHOUT_PLAN:
            output.abort()
            return Wired(replace(plan, seconds=progress.seconds), None, read, digest)
        with progress.stage("write"):
            written = stage_overlay_plan(output, plan, read, network, digest)
        with progress.stage("audit"):
            refuse_wrong(audit_staged_overlay(output.root, written, read))
        spent = dict(progress.seconds)
        plan, written = replace(plan, seconds=spent), replace(written, seconds=spent)
        output.commit(written.as_json())
    except BaseException:
        output.abort()
        raise
    return Wired(plan, written, read, digest)


def refuse_others(place: Place) -> None:
    """Refuse a workload or a plan in place of a network, by what it is."""
    if (place / NETWORK_HEADER).exists():
        return
    for file, what in _OTHERS.items():
        if (place / file).exists():
            raise InputError(
                f"{place} is {what}, expected a network",
                hint="Make one with: brokerwise summarize ... or "
                "brokerwise generate network",
            )


@dataclass(frozen=True, eq=False, repr=False)
class SavableOverlayPlan(OverlayPlan):
    """A plan that knows its network, in memory or where it is on disk.

    Its figures can be read as attributes; costs are whole thousandths.
    """

    network: Network | None = None
    network_place: Place | None = None

    def save(
        self,
        directory: str | PathLike[str],
        network: str | PathLike[str] | None = None,
        *,
        force: bool = False,
    ) -> str:
        """Audit the plan and write it; returns its digest.

        `network` is where the network is, or will be, on disk, if the plan does not
        know. Without one the plan is still tied to the network by its digest.
        """
        if self.status in WITHOUT_PLAN:
            raise InputError(f"there is no plan to save: {self.reason}")
        if self.network is None:
            raise InputError("this plan does not know its network")
        found = overlay_violations(self, self.network)
        if found:
            raise BrokerwiseError(
                "the audit found violations in the plan; nothing was written",
                details=[violation.message for violation in found],
            )
        where = self.network_place if network is None else Place(fspath(network))
        header = write_overlay_plan(
            self,
            self.network,
            Place(fspath(directory)),
            network_place=where or _NOWHERE,
            force=force,
        )
        return header.digest

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("figures", {})
        if name in figures:
            return figures[name]
        raise AttributeError(f"this overlay plan has no {name!r}")


def overlay_in_memory(
    network: Network, place: Place | None, options: Options
) -> SavableOverlayPlan:
    """Plan for the Python API; `place` is where the network was read from, if so."""
    watch = Stopwatch()
    plan = solve(network, replace(options, stage=watch.stage))
    same: dict[str, Any] = {f.name: getattr(plan, f.name) for f in fields(plan)}
    same["seconds"] = watch.seconds
    return SavableOverlayPlan(**same, network=network, network_place=place)
