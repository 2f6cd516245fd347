"""Every kind of report, each made from the JSON of one result and from nothing else;
and results that were kept, as JSON or in a report."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from brokerwise.model.errors import InputError
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.model.renames import with_new_names
from brokerwise.show import (
    balance,
    colocate,
    fill,
    latency,
    moves,
    overlay,
    profile,
    provision,
    replay,
)
from brokerwise.show.page import Page, is_page, render_page
from brokerwise.show.results import Result

Build = Callable[[Result], Page]

REPORTS: Mapping[str, Build] = {
    "profile": profile.page_of,
    "provision": provision.page_of,
    "fill": fill.page_of,
    "colocate": colocate.page_of,
    "overlay": overlay.page_of,
    "simulate balance": balance.page_of,
    "moves": moves.page_of,
    "moves decision": moves.decision_page,
    "replay": replay.page_of,
    "replay colocate": replay.targets_page,
    "skew": moves.skew_page,
    "latency evaluate": latency.evaluation_page,
    "latency train": latency.training_page,
}
"""What a result calls its `kind`, and what makes a page of it."""


def render(result: Result, reports: Mapping[str, Build] = REPORTS) -> str:
    """The report of a result as one HTML file; `reports` makes its page.

    It sees the result as JSON holds it, so whoever has that JSON gets the same text.
    """
    plain = json.loads(json.dumps(result))
    return render_page(reports[plain["kind"]](plain))


_RESULT = re.compile(
    rb'<script type="application/json" id="result">(.*?)</script>', re.S
)

_WRONG = (
    *(TypeError, ValueError, LookupError, AttributeError),
    *(ArithmeticError, StopIteration, RecursionError),
)


def result_in(content: bytes, name: str) -> dict[str, Any]:
    """The result that a JSON file or a report holds; `name` is what errors call it."""
    text = content
    if is_page(content):
        found = _RESULT.search(content)
        if found is None:
            raise InputError(f"{name}: a page that holds no result of brokerwise")
        text = found[1]
    try:
        result = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as cause:
        raise InputError(f"{name}: neither JSON nor a report: {cause}") from cause
    if not isinstance(result, dict):
        what = type(result).__name__
        raise InputError(f"{name}: found a {what}, expected a JSON object")
    found_result: dict[str, Any] = with_new_names(result)
    return found_result


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number that JSON has")


def page_of(result: Result, name: str, reports: Mapping[str, Build] = REPORTS) -> Page:
    """The report of a result, of the kinds that are known. Raises InputError if there
    is none, or if something is missing in it."""
    kind = result.get("kind")
    if not isinstance(kind, str) or kind not in reports:
        found = "no kind" if kind is None else f"kind {kind!r}"
        raise InputError(
            f"{name}: found {found}, expected a result of a kind that has a report",
            hint=f"Kinds: {', '.join(reports)}.",
        )
    _refuse_without_plan(result, name)
    with _named_problems(result, name):
        return reports[kind](_named(result, ""))


def report_of(
    result: Result, name: str, reports: Mapping[str, Build] = REPORTS
) -> tuple[str, str]:
    """The answer of a result, and its report. Raises InputError as `page_of` does."""
    page = page_of(result, name, reports)
    with _named_problems(result, name):
        return page.answer, render_page(page)


@contextmanager
def _named_problems(result: Result, name: str) -> Iterator[None]:
    """What goes wrong within is due to what is in the result."""
    try:
        yield
        return
    except KeyError as cause:
        problem = f"the field {cause.args[0]!r} is missing"
    except _WRONG as cause:
        problem = (
            f"a field is not of the type, or in the range, that it should be: {cause}"
        )
    kind = result["kind"]
    raise InputError(f"{name}: {problem} in this result of {kind}", hint=_hint(result))


class _Object(dict[str, Any]):
    """A JSON object that says where something is missing in the whole."""

    def __init__(self, content: Result, place: str) -> None:
        super().__init__(content)
        self._place = place

    def __missing__(self, key: str) -> Any:
        raise KeyError(f"{self._place}{key}")


def _named(value: Any, place: str) -> Any:
    if isinstance(value, Mapping):
        inner = {key: _named(each, f"{place}{key}.") for key, each in value.items()}
        return _Object(inner, place)
    if isinstance(value, list):
        within = place.removesuffix(".")
        return [_named(each, f"{within}[{at}].") for at, each in enumerate(value)]
    return value


def _refuse_without_plan(result: Result, name: str) -> None:
    """What is infeasible or unknown is an answer, but no plan to report on."""
    plans = result.get("plans", [result])
    if not isinstance(plans, list) or not all(isinstance(p, Mapping) for p in plans):
        return
    if plans and all(plan.get("status") in WITHOUT_PLAN for plan in plans):
        reason = plans[0].get("reason", plans[0]["status"])
        raise InputError(f"{name}: there is no plan to report on: {reason}")


def _hint(result: Result) -> str:
    made, own = result.get("version"), version("brokerwise")
    if made not in (None, own):
        return f"It was made by brokerwise {made}; this is {own}."
    return "Take all that --json printed, or the whole result.json."
