"""From a directory with a plan of kind colocate to what its page shows."""

from typing import Any

from brokerwise.pipeline.colocate import Colocated
from brokerwise.report.colocate_details import colocate_details
from brokerwise.results.colocate import colocate_result
from brokerwise.storage.colocation_plan import StoredColocation, read_colocation_plan
from brokerwise.storage.latency_model import read_latency_model
from brokerwise.storage.place import Place
from brokerwise.viewing.colocated import UNIT, SharedBrokers
from brokerwise.viewing.kept import kept_of, page_of_plan
from brokerwise.viewing.shown import page_json, unsaid
from brokerwise.viewing.view import View


def open_colocation(place: Place, topics: Place | None) -> View:
    """The whole plan in memory. It has its topics with it, so `topics`, where they came
    from, is for the audit only."""
    stored = read_colocation_plan(place)
    shared = SharedBrokers(stored.plan, stored.topics)
    return View(
        {
            **page_json(page_of_plan(place, _result(place, stored))),
            "unit": UNIT,
            "brokers": shared.brokers(),
            "broker_count": stored.plan.replicas.brokers,
            "overlay": None,
        },
        shared.find,
        shared.broker,
    )


def _result(place: Place, stored: StoredColocation) -> dict[str, Any]:
    """What `brokerwise colocate --json` prints, as far as it is known."""
    header = stored.header
    model = read_latency_model(Place(header.model.path))
    found = Colocated(stored.plan, header, stored.topics, model, header.source, None)
    return {
        **colocate_result(found, place),
        "details": colocate_details(stored.plan, stored.topics),
        "source": header.source.path,
        "model": header.model.path,
        **unsaid(header.seconds),
        **kept_of(place, header.digest, "observed", "left_out"),
    }
