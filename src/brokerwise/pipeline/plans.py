"""Plans of ours: refused if their audit finds them wrong, saved if that is wanted."""

from dataclasses import dataclass, fields
from os import PathLike, fspath
from typing import Any

from brokerwise.auditing.findings import Findings
from brokerwise.auditing.memory import violations
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.plan import write_plan
from brokerwise.storage.workload import digest_of

# Where a plan says its workload is that is nowhere on disk.
_NOWHERE = Place("in memory")


class RefusedPlanError(BrokerwiseError):
    """The audit found a plan of ours to be wrong; it was not written."""

    def __init__(self, audit: Findings) -> None:
        self.audit = audit
        super().__init__(
            f"the audit found {audit.total:,} violations in the plan; "
            "nothing was written",
            details=[violation.message for violation in audit.violations],
            hint="This is a defect of brokerwise: please report it.",
        )


def refuse_wrong(audit: Findings) -> None:
    """Raise RefusedPlanError if the audit found anything."""
    if not audit.ok:
        raise RefusedPlanError(audit)


@dataclass(frozen=True, eq=False, repr=False)
class SavablePlan(Plan):
    """A plan that knows its workload, in memory or where it is on disk."""

    workload: Workload | None = None
    workload_place: Place | None = None

    def save(
        self,
        directory: str | PathLike[str],
        workload: str | PathLike[str] | None = None,
        *,
        force: bool = False,
    ) -> str:
        """Audit the plan and write it; returns its digest.

        `workload` is where the workload is, or will be, on disk, if the plan does
        not know. Without one the plan is still tied to the workload by its digest.
        """
        if self.status in WITHOUT_PLAN:
            raise InputError(f"there is no plan to save: {self.reason}")
        if self.workload is None:
            raise InputError("the pairs of this plan are on disk already")
        found = violations(self, self.workload)
        if found:
            raise BrokerwiseError(
                "the audit found violations in the plan; nothing was written",
                details=[violation.message for violation in found],
            )
        where = self.workload_place if workload is None else Place(fspath(workload))
        header = write_plan(
            self,
            Place(fspath(directory)),
            workload=where or _NOWHERE,
            workload_digest=digest_of(self.workload),
            force=force,
        )
        return header.digest


def savable(plan: Plan, workload: Workload | None, place: Place | None) -> SavablePlan:
    """The same plan, with its workload or where that is."""
    same: dict[str, Any] = {f.name: getattr(plan, f.name) for f in fields(plan)}
    return SavablePlan(**same, workload=workload, workload_place=place)
