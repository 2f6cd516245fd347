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
    reproduce_balance,
    reproduce_colocate,
    reproduce_fill,
    reproduce_overlay,
    reproduce_provision,
    skew,
    targets,
)
from brokerwise.report.page import Page, render_page

Result = Mapping[str, Any]
Build = Callable[[Result], Page]


def _as_kept(build: Build) -> Build:
    """From what results.json holds: `reproduce --json` adds where that is, and how
    long it took to complete it."""

    def built(result: Result) -> Page:
        added = ("out", "seconds")
        return build({key: result[key] for key in result if key not in added})

    return built


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
    "reproduce provision": _as_kept(reproduce_provision.page_of),
    "reproduce fill": _as_kept(reproduce_fill.page_of),
    "reproduce colocate": _as_kept(reproduce_colocate.page_of),
    "reproduce overlay": _as_kept(reproduce_overlay.page_of),
    "reproduce balance": _as_kept(reproduce_balance.page_of),
}
"""What a result calls its `kind`, and what makes a page of it."""


def render(result: Result) -> str:
    """The report of a result as one HTML file.

    It sees the result as JSON holds it, so whoever has that JSON gets the same text.
    """
    plain = json.loads(json.dumps(result))
    return render_page(REPORTS[plain["kind"]](plain))
