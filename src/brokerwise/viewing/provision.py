"""From a directory with a plan of kind provision to what its page shows."""

from dataclasses import replace
from typing import Any

from brokerwise.model.plan import Plan
from brokerwise.report.page import Page
from brokerwise.results.provision import details, plan_result
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlanHeader, read_plan_header, read_plan_runs
from brokerwise.storage.workload import WorkloadHeader, read_header, read_topics
from brokerwise.viewing.kept import kept_of, page_of_plan
from brokerwise.viewing.placed import UNIT, Placed
from brokerwise.viewing.reading import Rows, count_followers, has_column, read_names
from brokerwise.viewing.searching import Search
from brokerwise.viewing.shown import page_json, unsaid
from brokerwise.viewing.tradeoff import tradeoff
from brokerwise.viewing.view import View

_OF_THE_RUN = (
    *("details", "steps_left_out", "naive", "budget", "affordable", "prices_assumed"),
    *("moves", "added", "removed", "kept", "brokers_added", "brokers_removed"),
    *("cost_before", "cost_fresh", "max_moves"),
)


def open_provision(place: Place, workload: Place | None) -> View:
    """O(topics, brokers and names of subscribers) in memory, and one pass over the
    interests; `workload` is where the plan says unless given."""
    header = read_plan_header(place)
    plan = read_plan_runs(place, header)
    where = workload or Place(header.workload["path"])
    placed = placed_of(plan, place, header, where)
    result = provision_result(place, header, placed, read_header(where))
    return View(
        {
            **page_json(_page(result, place, header)),
            "unit": UNIT,
            "brokers": placed.brokers(),
            "broker_count": len(plan.brokers),
            "overlay": None,
        },
        placed.find,
        placed.broker,
    )


def placed_of(plan: Plan, place: Place, header: PlanHeader, workload: Place) -> Placed:
    """Where the topics and pairs of a stored plan are."""
    about = read_header(workload)
    rates, names = read_topics(workload, about)
    lists, people = about.files["interests"], about.files["subscribers"]
    interests, subscribers = workload / "interests", workload / "subscribers"
    own = has_column(subscribers, people, "threshold")
    return Placed(
        plan,
        rates,
        count_followers(interests, lists, len(rates)),
        Search(names),
        Search(read_names(subscribers, people)),
        Rows.of(interests, lists),
        Rows.of(place / "placement", header.files["placement"]),
        Rows.of(subscribers, people) if own else None,
    )


def provision_result(
    place: Place, header: PlanHeader, placed: Placed, workload: WorkloadHeader
) -> dict[str, Any]:
    """What `brokerwise provision --json` prints, as far as it is known."""
    facts = {
        "period_seconds": workload.period_seconds,
        "message_bytes": workload.message_bytes,
        "subscribers": workload.subscribers,
        "pairs_wanted": workload.pairs,
        "own_thresholds": placed.people is not None,
        "workload": header.workload["path"],
        "workload_digest": workload.digest,
    }
    result = plan_result(placed.plan, header, place, facts)
    kept = kept_of(place, header.digest, *_OF_THE_RUN)
    said = kept.pop("details", None)
    steps = said.get("steps", []) if isinstance(said, dict) else []
    topics = placed.rates, placed.topics.names
    more = details(placed.plan, (), topics, result) | {"steps": steps}
    unknown = {**unsaid(header.seconds), "prices_assumed": False}
    return {**result, **unknown, **kept, "details": more}


def _page(result: dict[str, Any], place: Place, header: PlanHeader) -> Page:
    """The report's page, with what other plans cost in front."""
    page = page_of_plan(place, result)
    compared = tradeoff(place, header)
    if compared is None:
        return page
    return replace(page, plots=[compared, *page.plots])
