"""From a workload directory to plans that are written, audited and then appear."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby

from brokerwise.auditing.files import staged_case
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.units import checked_count
from brokerwise.pipeline.plans import refuse_wrong
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.pipeline.provision.engines import Engine
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.scan import Scan
from brokerwise.planners.provision.solve import Provisioning, Step, ladder
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER, PlanHeader


@dataclass(frozen=True)
class Target:
    """One plan to make, and where it is to appear."""

    threshold: int
    fleet: Fleet
    out: Place

    def __post_init__(self) -> None:
        checked_count(self.threshold, "threshold")


@dataclass(frozen=True, eq=False)
class Provisioned:
    """A plan, and the steps that lead to its cost if they were asked for.

    `header` is None where the problem is infeasible: nothing was written.
    """

    target: Target
    plan: Plan
    header: PlanHeader | None
    steps: tuple[Step, ...] = ()

    @property
    def plan_digest(self) -> str:
        return "" if self.header is None else self.header.digest


def provision_directory(
    engine: Engine,
    targets: Sequence[Target],
    options: Options,
    *,
    force: bool = False,
    progress: Progress | None = None,
    with_steps: bool = False,
) -> list[Provisioned]:
    """Make all plans, audit them, and let them appear together, or none of them.

    Targets of one threshold that stand together share their passes. Places that may
    not be written are refused before any work. Infeasible ones are not written.
    """
    progress = progress or Stopwatch()
    run = _Run(engine, replace(options, stage=progress.stage), with_steps, progress)
    with ExitStack() as stack:
        outputs = []
        for target in targets:
            outputs.append(Output.begin(target.out, HEADER, force=force))
            stack.callback(outputs[-1].abort)
        made: list[Provisioned] = []
        both = zip(targets, outputs, strict=True)
        for threshold, group in groupby(both, lambda both: both[0].threshold):
            with engine.scan(threshold, targets[0].out) as scan:
                provisioning = Provisioning(scan, threshold, run.options)
                made += [run.make(scan, provisioning, t, o) for t, o in group]
        for result, output in zip(made, outputs, strict=True):
            if result.header is not None:
                output.commit(result.header.as_json())
    return made


@dataclass(frozen=True, eq=False)
class _Run:
    engine: Engine
    options: Options
    with_steps: bool
    progress: Progress

    def make(
        self, scan: Scan, provisioning: Provisioning, target: Target, output: Output
    ) -> Provisioned:
        """Draft, write and audit one plan; it does not appear yet."""
        before = dict(self.progress.seconds)
        stage = self.options.stage
        draft = provisioning.draft(target.fleet)
        steps: tuple[Step, ...] = ()
        if self.with_steps and draft.packing is not None:
            with stage("steps"):
                steps = tuple(ladder(provisioning, draft))
        if draft.packing is None:
            return Provisioned(target, draft.plan(None), None)
        with stage("place"):
            plan, header = self.engine.write(scan, draft, output)
        with stage("audit"):
            self._audit(header, output)
        spent = {
            name: round(seconds - before.get(name, 0.0), 3)
            for name, seconds in self.progress.seconds.items()
            if seconds > before.get(name, 0.0)
        }
        return Provisioned(
            target, replace(plan, seconds=spent), replace(header, seconds=spent), steps
        )

    def _audit(self, header: PlanHeader, output: Output) -> None:
        workload = self.engine.workload
        case = staged_case(output.root, header, workload, self.engine.header)
        refuse_wrong(self.engine.audit(case))
