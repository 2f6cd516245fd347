"""What only the run knew that made a plan: the commands keep it beside the plan."""

from typing import Any

from brokerwise.report.kept import page_of, result_in
from brokerwise.report.page import Page
from brokerwise.storage.output import RESULT
from brokerwise.storage.place import Place

_ALWAYS = ("command", "version", "seconds")


def kept_of(place: Place, digest: str, *keys: str) -> dict[str, Any]:
    """Some fields of a plan's `result.json`; none if it is not there, as with plans of
    the Python API, or is of another plan.

    What a plan says itself is not taken from there: nobody audits that file.
    """
    file = place / RESULT
    if not file.exists() or (file.local is not None and not file.local.is_file()):
        return {}
    kept = result_in(file.read(), str(file))
    if kept.get("digest") != digest:
        return {}
    return {key: kept[key] for key in (*_ALWAYS, *keys) if key in kept}


def page_of_plan(place: Place, result: dict[str, Any]) -> Page:
    """The report's page. Raises InputError if what was kept does not fit."""
    return page_of(result, str(place / RESULT))
