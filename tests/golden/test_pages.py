"""What the page of a plan is told, and what reports of every kind hold."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.golden.fleet import ask
from tests.golden.golden import compare
from tests.golden.planning import normal, shown
from tests.show.plans import TOKEN, make_plans, served
from tests.show.samples import EVERY_REPORT, SAMPLES

from brokerwise.show.plan_page import open_view
from brokerwise.show.reports import render

FOUND = {
    "provision": ("world", "u1", "nothing", ""),
    "fill": ("world", "u1", "nothing", ""),
    "overlay": ("subchannel/3", "u1", "user 1", "nothing"),
    "colocate": ("t00", "t0", "nothing"),
}


def test_views(planning_folder: Any) -> None:
    plans, found = make_plans(planning_folder), dict[str, Any]()
    for kind, names in FOUND.items():
        with served(open_view(plans.of(kind))) as url:
            calls = ["/plan", "/plan/broker/0", "/plan/broker/99", "/plan/broker/x"]
            calls += [f"/plan/find?text={name.replace(' ', '%20')}" for name in names]
            for call in calls:
                answer = ask(f"{url}{call}", TOKEN)
                body = normal(answer.json)
                found[f"{kind} {call}"] = {"status": answer.status, "answer": body}
            without = ask(f"{url}/plan")
            found[f"{kind} without a token"] = without.status
    compare("planning/views", found)


def timed(value: Any, is_time: bool = False) -> Any:
    """A result in which everything took a second: some samples are measured."""
    if isinstance(value, Mapping):
        return {
            key: timed(each, is_time or key == "seconds") for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [timed(each, is_time) for each in value]
    return 1.0 if is_time and isinstance(value, float) else value


@pytest.mark.parametrize("kind", SAMPLES)
def test_reports(kind: str) -> None:
    name = kind.replace(", ", " ").replace(" ", "_")
    compare(
        f"planning/report_{name}", shown(render(timed(SAMPLES[kind]()), EVERY_REPORT))
    )
