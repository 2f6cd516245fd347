"""From a plan directory of any kind to what its page shows."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeAlias

from brokerwise.auditing.findings import Findings
from brokerwise.model.errors import InputError
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.planners.control import Stage
from brokerwise.storage.header import header_content
from brokerwise.storage.place import Place
from brokerwise.storage.plan import FORMAT, HEADER, plan_kind
from brokerwise.viewing.auditing import audit_json, audited
from brokerwise.viewing.colocate import open_colocation
from brokerwise.viewing.fill import open_fill
from brokerwise.viewing.overlay import open_overlay
from brokerwise.viewing.provision import open_provision
from brokerwise.viewing.view import View

_Opener: TypeAlias = Callable[[Place, Place | None], View]

_OPENERS: Mapping[str, _Opener] = {
    "provision": open_provision,
    "fill": open_fill,
    "colocate": open_colocation,
    "overlay": open_overlay,
}
_SHOWN = 5  # violations


class UnreadablePlanError(InputError):
    """A plan that is so wrong that there is nothing to show of it."""

    def __init__(self, place: Place, audit: Findings) -> None:
        self.audit = audit
        super().__init__(
            f"{place} cannot be shown: the audit found it to be wrong",
            details=[f"{v.check}: {v.message}" for v in audit.violations[:_SHOWN]],
            hint=f"See all of it: brokerwise audit {place}",
        )


def open_view(
    place: Place, basis: Place | None = None, stage: Stage = nullcontext
) -> View:
    """Audit a plan and open it.

    `basis` is where its workload, network or topics are, if not where it says. A plan
    that the audit finds to be wrong is shown with what is wrong, if it can be read.
    Raises InputError for what is no plan, or cannot be used.
    """
    kind = _kind(place)
    with stage("audit"):
        audit = audited(place, kind, basis)
    with stage("read"):
        view = _opened(place, kind, basis, audit)
    said = {"name": str(place), "audit": audit_json(audit, place)}
    return replace(view, plan={**view.plan, **said})


def _kind(place: Place) -> str:
    if not (place / HEADER).exists():
        raise _no_plan(place)
    kind = plan_kind(place)
    if kind not in _OPENERS:
        raise InputError(
            f"{place} is a plan of kind {kind!r}, expected {', '.join(_OPENERS)}"
        )
    status = header_content(place, HEADER, format=FORMAT).get("status")
    if status in WITHOUT_PLAN:
        raise InputError(f"{place} is {status}: there is no plan to show")
    return kind


def _no_plan(place: Place) -> InputError:
    """Says which plans are in the directory, if there are any."""
    here = place.local
    found = sorted(here.glob(f"*/{HEADER}")) if here is not None else []
    hint = "Make one: brokerwise provision, fill, colocate or overlay."
    if found:
        hint = f"It holds plans: brokerwise view {place / found[0].parent.name}"
    message = f"{place} is not a plan directory: it has no {HEADER}"
    return InputError(message, hint=hint)


def _opened(
    place: Place, kind: str, basis: Place | None, audit: Findings | None
) -> View:
    try:
        return _OPENERS[kind](place, basis)
    except (InputError, LookupError, TypeError, ValueError, ArithmeticError) as cause:
        if audit is None or audit.ok:
            raise
        raise UnreadablePlanError(place, audit) from cause
