"""From a directory with a plan of kind fill to what its page shows."""

from typing import Any

from brokerwise.model.fleet import Bandwidth, Fleet
from brokerwise.pipeline.fill import Filled
from brokerwise.results.fill import details, fill_result
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan, read_plan_header
from brokerwise.storage.workload import read_workload
from brokerwise.viewing.kept import kept_of, page_of_plan
from brokerwise.viewing.placed import UNIT
from brokerwise.viewing.provision import placed_of
from brokerwise.viewing.shown import page_json, unsaid
from brokerwise.viewing.view import View


def open_fill(place: Place, workload: Place | None) -> View:
    """Plan and workload in memory, as they were when the fleet was filled."""
    header = read_plan_header(place)
    where = workload or Place(header.workload["path"])
    filled = Filled(read_plan(place), header, read_workload(where))
    placed = placed_of(filled.plan, place, header, where)
    return View(
        {
            **page_json(page_of_plan(place, _result(place, filled))),
            "unit": UNIT,
            "brokers": placed.brokers(),
            "broker_count": len(filled.plan.brokers),
            "overlay": None,
        },
        placed.find,
        placed.broker,
    )


def _result(place: Place, filled: Filled) -> dict[str, Any]:
    """What `brokerwise fill --json` prints."""
    header = filled.header
    return {
        **fill_result(filled, _asked(filled), place, _at_once),
        "details": details(filled),
        "workload": header.workload["path"],
        "workload_digest": header.workload["digest"],
        **unsaid(header.seconds),
        **kept_of(place, header.digest, "more"),
    }


def _at_once() -> bool:
    """How many more brokers would carry everything is not searched for again."""
    return True


def _asked(filled: Filled) -> Fleet | Bandwidth:
    """The brokers that there were to fill, or the bandwidth to be split over them."""
    options = filled.plan.options
    if "total_bandwidth" in options:
        return Bandwidth(options["total_bandwidth"], options["max_broker"])
    return filled.plan.fleet
