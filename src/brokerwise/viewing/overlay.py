"""From a directory with a plan of kind overlay to what its page shows."""

from collections.abc import Mapping
from typing import Any

from brokerwise.pipeline.overlay import Wired
from brokerwise.report.overlay_map import Map
from brokerwise.report.page import Page
from brokerwise.results.overlay import details, overlay_result
from brokerwise.storage.network import read_network
from brokerwise.storage.overlay_plan import read_overlay_header, read_overlay_plan
from brokerwise.storage.place import Place
from brokerwise.viewing.kept import kept_of, page_of_plan
from brokerwise.viewing.shown import page_json, tables_json, unsaid
from brokerwise.viewing.view import Json, View
from brokerwise.viewing.wired import UNIT, WiredBrokers


def open_overlay(place: Place, network: Place | None) -> View:
    """Plan and network in memory, as they were when users were wired."""
    header = read_overlay_header(place)
    where = network or Place(header.network["path"])
    wired = Wired(
        read_overlay_plan(place),
        header,
        read_network(where),
        header.network["digest"],
    )
    page = page_of_plan(place, _result(place, wired))
    brokers = WiredBrokers(wired.plan, wired.network)
    return View(
        {
            **page_json(page),
            "unit": UNIT,
            "brokers": brokers.brokers(),
            "broker_count": wired.network.brokers,
            "overlay": _map(page),
        },
        brokers.find,
        brokers.broker,
    )


def _result(place: Place, wired: Wired) -> dict[str, Any]:
    """What `brokerwise overlay --json` prints."""
    header = wired.header
    assert header is not None
    return {
        **overlay_result(wired, place),
        "details": details(wired),
        "network": header.network["path"],
        "network_digest": wired.digest,
        **unsaid(header.seconds),
        **kept_of(place, header.digest),
    }


def _map(page: Page) -> Json:
    """Where brokers and users are, and what crosses the links between brokers."""
    found = page.data["details"]
    drawn = next(plot for plot in page.plots if isinstance(plot, Map))
    brokers, users, links = found["brokers"], found["users"], found["links"]
    people = ("x", "y", "broker", "name", "load", "link")
    ends = {"from": "a", "to": "b", "traffic": "traffic", "cost": "cost"}
    return {
        "caption": drawn.caption,
        "tables": tables_json(drawn.tables),
        "brokers": _rows(brokers, {key: key for key in brokers}),
        "links": _rows(links, ends),
        "users": [list(row) for row in zip(*(users[k] for k in people), strict=True)],
    }


def _rows(columns: Mapping[str, Any], names: Mapping[str, str]) -> list[Json]:
    """Columns as a row each, under other names."""
    values = zip(*(columns[key] for key in names.values()), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]
