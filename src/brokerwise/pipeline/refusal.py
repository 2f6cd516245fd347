"""What happens to a plan of ours that its audit finds to be wrong."""

from brokerwise.auditing.findings import Findings
from brokerwise.model.errors import BrokerwiseError


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
