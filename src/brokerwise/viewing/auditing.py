"""What an audit says of a plan when it is opened."""

from brokerwise.auditing.colocation import audit_colocation_directory
from brokerwise.auditing.files import open_case
from brokerwise.auditing.findings import Findings
from brokerwise.auditing.memory import audit_case
from brokerwise.auditing.overlay import audit_overlay_directory
from brokerwise.model.errors import MissingBasisError
from brokerwise.storage.place import Place
from brokerwise.viewing.view import Json

# Beyond, not every machine has the memory: `brokerwise audit` does it on Spark.
MOST_PAIRS = 20_000_000


def audited(place: Place, kind: str, basis: Place | None) -> Findings | None:
    """Recompute everything, in memory; None for a plan that is too large for that.

    `basis` is where the workload, the network or the topics are, if elsewhere now.
    """
    try:
        if kind == "overlay":
            return audit_overlay_directory(place, basis)
        if kind == "colocate":
            return audit_colocation_directory(place, topics=basis)
        case = open_case(place, basis)
        return audit_case(case) if case.header.pairs <= MOST_PAIRS else None
    except MissingBasisError as error:
        if error.what != "model":
            error.hint = "Name where it is with --workload DIR."
        raise


def audit_json(found: Findings | None, place: Place) -> Json:
    """`ok` is null for a plan that was not audited; `advice` says what to do then."""
    if found is None:
        advice = f"Too large to be audited here: brokerwise audit {place}"
        return {"ok": None, "total": 0, "findings": [], "advice": advice}
    return {
        "ok": found.ok,
        "total": found.total,
        "findings": [[v.check, v.message] for v in found.violations],
        "advice": "" if found.ok else f"See all of it: brokerwise audit {place}",
    }
