"""The report of a co-location: plain data, then plots and sentences."""

from typing import Any

import numpy as np
import pytest
from tests.colocation import model_of
from tests.planners.colocate.cases import drawn

from brokerwise.model.colocation import TopicTable
from brokerwise.planners.colocate.problem import Options, Problem
from brokerwise.planners.colocate.solve import solve
from brokerwise.show.colocate import (
    MOST_BROKERS,
    answer,
    colocate_details,
    cut_short,
    disagreed,
    limit,
    needed,
    outside,
    plots,
)


def result_of(topics: TopicTable, **changed: Any) -> dict[str, Any]:
    plan = solve(Problem(topics, model_of(), 4), Options("ffd", split=True))
    facts = {
        "brokers": plan.objective,
        "topics": len(topics),
        "replicas": len(plan.replicas),
        "margin": 0.1,
        "details": colocate_details(plan, topics),
    }
    return facts | changed


def test_bars_are_made_of_topics_and_points_rise() -> None:
    topics = drawn(20, 3)
    result = result_of(topics)
    loads, latencies = plots(result)
    bars = sum(sum(layer.y) for layer in loads.series)
    whole = float((topics.processing_ms * topics.rate_per_second).sum()) / 1000
    assert bars == pytest.approx(whole) and loads.stacked
    assert len(loads.x.labels) == result["brokers"]
    points, target, allowed = latencies.series
    assert len(points.y) == 20 and list(points.y) == sorted(points.y)
    assert max(points.y) <= allowed.y[0] == 90 and target.y[0] == 100
    first = loads.series[0]
    assert all(" cores, p90 " in text for text in first.hover)
    assert sum(int(row[1]) for row in loads.tables[0].rows) == 20


def test_of_many_brokers_the_fullest_are_shown() -> None:
    topics = drawn(200, 3)
    result = result_of(topics)
    loads, _ = plots(result)
    totals = [one["load"] for one in result["details"]["brokers"]]
    assert len(totals) == MOST_BROKERS < result["brokers"]
    assert totals == sorted(totals, reverse=True)
    rest = result["brokers"] - MOST_BROKERS
    assert f"{rest:,} brokers that carry less are left out" in loads.caption


def test_replicas_of_a_topic_are_told_apart() -> None:
    topics = drawn(4, 1)
    fast = np.where(np.arange(4) == 2, 400.0, topics.rate_per_second)
    table = TopicTable(topics.names, topics.processing_ms, fast, topics.target_ms)
    names = result_of(table)["details"]["topics"]["name"]
    assert {"2 (0)", "2 (1)"} <= set(names) and "0" in names


def test_no_topics_are_nothing_to_plot() -> None:
    result = result_of(drawn(0, 1))
    assert not any(plot.drawable for plot in plots(result))


BASE: dict[str, Any] = {
    "status": "feasible",
    "observed": None,
    "brokers": 7,
    "topics": 50,
    "bound": 6,
    "bounds": {"count": 5, "clique": 6},
    "k": 10,
    "full": 2,
    "load": 3.456,
    "outside": 0,
    "monotone": False,
    "agreed": 200,
    "contradicted": 3,
    "algorithm": "lfs",
    "options": {"split": False},
}


def said(**changed: Any) -> dict[str, Any]:
    return BASE | changed


def test_sentences_say_what_holds() -> None:
    assert answer(said()) == (
        "7 brokers carry 50 topics, each predicted to stay below its target; at least "
        "6 are needed."
    )
    assert needed(said(bound=1)) == "at least 1 is needed"
    assert answer(said(topics=1, brokers=1, status="optimal")).startswith(
        "1 broker carries 1 topic, predicted to stay below its target; fewer cannot"
    )
    assert [*limit(said())] == [
        "binding: latency, and k: 2 of 7 brokers have k = 10 topics; 3.46 cores of "
        "processing in all"
    ]
    assert "no broker has 10 topics" in next(limit(said(full=0)))
    by_count = said(bound=7, bounds={"count": 7})
    assert "k = 10, whatever the latency" in next(limit(by_count))
    by_replicas = said(bound=7, bounds={"count": 5, "replicas": 7})
    assert next(limit(by_replicas)).startswith("binding: a topic with 7 replicas;")
    assert outside(said(outside=1)).startswith("1 topic of 50 lies outside")
    assert disagreed(said()).startswith("3 of 200 sets that it calls feasible (1.5 %)")
    assert disagreed(said(agreed=0, contradicted=0)).startswith("0 of 0 sets that")
    assert "never" in disagreed(said(monotone=True))
    assert [*cut_short(said())] == []
    work = said(options={"stopped": "work"})
    assert [*cut_short(work)] == ["lfs was stopped by its limit of work"]
    assert "--seconds" in next(cut_short(said(options={"stopped": "time"})))
