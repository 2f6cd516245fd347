"""The page of one plan: opened from its directory, audited, and served over HTTP."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeAlias

from brokerwise.auditing.colocation import audit_colocation_directory
from brokerwise.auditing.files import open_case
from brokerwise.auditing.findings import Findings
from brokerwise.auditing.memory import audit_case
from brokerwise.auditing.overlay import audit_overlay_directory
from brokerwise.model.errors import BrokerwiseError, InputError, MissingBasisError
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.planners.control import Stage
from brokerwise.runtime.net.api import (
    OPERATORS,
    Endpoint,
    HttpService,
    page_endpoints,
)
from brokerwise.runtime.net.errors import NotFoundError, RefusalError
from brokerwise.runtime.protocol.tokens import Keys
from brokerwise.show.placed_pairs import open_fill, open_provision
from brokerwise.show.shared_brokers import open_colocation
from brokerwise.show.view import Json, View
from brokerwise.show.wired_users import open_overlay
from brokerwise.storage.header import header_content
from brokerwise.storage.place import Place
from brokerwise.storage.plan import FORMAT, HEADER, plan_kind

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


PAGE = "plan.html"
_MOST_TEXT = 1024  # bytes that a name has at most
_MOST_DIGITS = 9  # of the number of a broker


class UnreadableFilesError(RefusalError):
    """Files of the plan have gone, or are not what they were."""

    status = 500


def make_service(view: View, keys: Keys) -> HttpService:
    """Holders of an operator's token see the plan."""
    calls = _Calls(view)
    endpoints = [
        *page_endpoints(PAGE),
        Endpoint("GET", "/plan", OPERATORS, calls.plan),
        Endpoint("GET", "/plan/find", OPERATORS, calls.find),
        Endpoint("GET", "/plan/broker/{number}", OPERATORS, calls.broker),
    ]
    return HttpService(endpoints, keys)


class _Calls:
    """They read files, so they run in threads: plain functions do."""

    def __init__(self, view: View) -> None:
        self._view = view

    def plan(self) -> Json:
        return self._view.plan

    def find(self, text: str = "") -> Json:
        text = text.strip()
        if len(text.encode()) > _MOST_TEXT:
            text = ""  # no name is so long
        try:
            return self._view.find(text)
        except (BrokerwiseError, OSError, LookupError) as error:
            said = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            raise UnreadableFilesError(
                f"files of the plan cannot be read: {said}"
            ) from error

    def broker(self, number: str) -> Json:
        is_number = number.isdecimal() and len(number) <= _MOST_DIGITS
        found = self._view.broker(int(number)) if is_number else None
        if found is None:
            raise NotFoundError("there is no such broker")
        return found
