"""A report's page as JSON: the same sentences, numbers, plots and tables."""

from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from typing import Any

from brokerwise.report.html import Fact, Table
from brokerwise.report.overlay_map import Map
from brokerwise.report.page import Page
from brokerwise.report.plots import Plot
from brokerwise.report.provision_sentences import gap_text
from brokerwise.viewing.view import Json

# It has a place of its own on the page.
_COMMAND = "Command"


def page_json(page: Page) -> dict[str, Any]:
    """All that a page says; facts that are not known are left out, and so is the map of
    an overlay, which has its own data."""
    drawn = [p for p in page.plots if p.drawable and not isinstance(p, Map)]
    known = [f for f in page.inputs if f.value and f.label != _COMMAND]
    return {
        "title": page.title,
        "question": page.question,
        "answer": page.answer,
        **{key: page.data[key] for key in ("kind", "status", "objective", "bound")},
        "gap": page.data["gap"],
        "gap_text": gap_text(page.data["gap"]),
        "facts": facts_json(page.facts),
        "inputs": facts_json(known),
        "tables": tables_json(page.tables),
        "plots": [plot_json(plot) for plot in drawn],
        "command": page.data["command"],
    }


def facts_json(facts: Iterable[Fact]) -> list[list[str]]:
    return [[fact.label, fact.value, fact.note] for fact in facts]


def tables_json(tables: Sequence[Table]) -> list[Json]:
    return [
        {
            "caption": t.caption,
            "columns": list(t.columns),
            "rows": list(map(list, t.rows)),
        }
        for t in tables
    ]


def plot_json(plot: Plot) -> Json:
    """What to draw, in words and as numbers."""
    return {
        "title": plot.title,
        "caption": plot.caption,
        "wide": plot.wide,
        "tables": tables_json(plot.tables),
        **_plain(plot.spec()),
    }


def _plain(spec: Any) -> Any:
    """A spec without the escapes that the drawing library of reports needs: the page
    never reads text as markup."""
    if isinstance(spec, str):
        return unescape(spec)
    if isinstance(spec, dict):
        return {key: _plain(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_plain(value) for value in spec]
    return spec


def unsaid(seconds: Mapping[str, float]) -> dict[str, Any]:
    """How a plan was made, as far as plan.json says: the seconds of its stages."""
    whole = {**seconds, "total": sum(seconds.values())}
    return {"command": "", "version": "", "seconds": whole}
