"""Every kind of report, each made from the JSON of one result and from nothing else."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from brokerwise.report import (
    balance,
    colocate,
    decision,
    fill,
    latency,
    moves,
    overlay,
    profile,
    provision,
    replay,
    skew,
    targets,
)
from brokerwise.report.page import Page, render_page

Result = Mapping[str, Any]
Build = Callable[[Result], Page]


REPORTS: Mapping[str, Build] = {
    "profile": profile.page_of,
    "provision": provision.page_of,
    "fill": fill.page_of,
    "colocate": colocate.page_of,
    "overlay": overlay.page_of,
    "simulate balance": balance.page_of,
    "moves": moves.page_of,
    "moves decision": decision.page_of,
    "replay": replay.page_of,
    "replay colocate": targets.page_of,
    "skew": skew.page_of,
    "latency evaluate": latency.page_of,
    "latency train": latency.training_page_of,
}
"""What a result calls its `kind`, and what makes a page of it."""


def render(result: Result, reports: Mapping[str, Build] = REPORTS) -> str:
    """The report of a result as one HTML file; `reports` makes its page.

    It sees the result as JSON holds it, so whoever has that JSON gets the same text.
    """
    plain = json.loads(json.dumps(result))
    return render_page(reports[plain["kind"]](plain))
