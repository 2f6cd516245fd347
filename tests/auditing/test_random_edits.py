"""Random small plans under random edits, against a count in plain dictionaries."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.auditing.forge import Forgery
from tests.auditing.naive import filled, provisioned, saved
from tests.auditing.oracle import expected_totals
from tests.tiers import examples

from brokerwise.auditing import memory
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.spark import audit_directory as spark_audit
from brokerwise.model.fleet import Bandwidth
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Weights, Workload
from brokerwise.storage.place import Place

Numbers = tuple[int, int, int]


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    rates = draw(st.lists(st.integers(0, 12), min_size=1, max_size=4))
    pair = st.tuples(st.integers(0, len(rates) - 1), st.integers(0, 4))
    pairs = draw(st.lists(pair, min_size=1, max_size=12))
    topics, subscribers = zip(*pairs, strict=True)
    workload = Workload.from_pairs(topics=topics, subscribers=subscribers, rates=rates)
    own = st.lists(
        st.integers(-1, 20),
        min_size=workload.subscribers,
        max_size=workload.subscribers,
    )
    thresholds = draw(st.none() | own)
    if thresholds is None:
        return workload
    return replace(workload, thresholds=np.array(thresholds, np.int64))


@st.composite
def plans(draw: st.DrawFn, workload: Workload) -> Plan:
    capacity = 2 * int(workload.rates[0]) + draw(st.integers(1, 20))
    if draw(st.booleans()):
        return draw(fill_plans(workload))
    price = st.sampled_from([0.0, 0.12, 1e6])
    return provisioned(
        workload,
        threshold=draw(st.integers(0, 30)),
        capacity=capacity,
        gigabyte_usd=draw(price),
        gigabyte_in_usd=draw(st.none() | price),
    )


@st.composite
def weights(draw: st.DrawFn, workload: Workload) -> Weights:
    def some(count: int) -> st.SearchStrategy[list[int] | None]:
        weight = st.sampled_from([0, 1, 1, 2, 7, 10**6])
        return st.none() | st.lists(weight, min_size=count, max_size=count)

    of_each = (some(workload.topics), some(workload.subscribers))
    return Weights(
        *(None if w is None else np.array(w, np.int64) for w in map(draw, of_each))
    )


@st.composite
def fill_plans(draw: st.DrawFn, workload: Workload) -> Plan:
    brokers, capacity = draw(st.integers(1, 3)), draw(st.integers(20, 50))
    booked = Bandwidth(brokers * capacity + 40, capacity + draw(st.integers(0, 3)))
    return filled(
        workload,
        brokers=brokers,
        capacity=capacity,
        smaller=draw(st.none() | st.tuples(st.integers(1, 2), st.integers(1, 19))),
        weights=draw(weights(workload)),
        bandwidth=draw(st.none() | st.just(booked)),
    )


def any_of(lines: list[dict[str, int]], number: int) -> dict[str, int]:
    return lines[number % len(lines)] if lines else {}


def put_pair(plan: Forgery, n: Numbers) -> None:
    row = plan.rows[n[0] % len(plan.rows)]
    row["topics"] = [*row["topics"], n[1] % 6]
    row["brokers"] = [*row["brokers"], n[2] % 5 - 1]


def repeat_pair(plan: Forgery, n: Numbers) -> None:
    row = plan.rows[n[0] % len(plan.rows)]
    row["topics"], row["brokers"] = row["topics"] * 2, row["brokers"] * 2


def drop_pair(plan: Forgery, n: Numbers) -> None:
    row = plan.rows[n[0] % len(plan.rows)]
    row["topics"], row["brokers"] = row["topics"][1:], row["brokers"][1:]


def drop_broker_of_pair(plan: Forgery, n: Numbers) -> None:
    row = plan.rows[n[0] % len(plan.rows)]
    row["brokers"] = row["brokers"][1:]


def move_pairs(plan: Forgery, n: Numbers) -> None:
    row = plan.rows[n[0] % len(plan.rows)]
    row["brokers"] = [n[1] % 4 for _ in row["brokers"]]


def drop_row(plan: Forgery, n: Numbers) -> None:
    if len(plan.rows) > 1:
        del plan.rows[n[0] % len(plan.rows)]


def repeat_row(plan: Forgery, n: Numbers) -> None:
    plan.rows.insert(n[1] % len(plan.rows), dict(plan.rows[n[0] % len(plan.rows)]))


def rename_row(plan: Forgery, n: Numbers) -> None:
    plan.rows[n[0] % len(plan.rows)]["subscriber"] = n[1] % 7


def change_broker(plan: Forgery, n: Numbers) -> None:
    columns = ("capacity", "load", "topics", "pairs", "broker")
    any_of(plan.brokers, n[0])[columns[n[1] % 5]] = n[2]


def change_run(plan: Forgery, n: Numbers) -> None:
    columns = ("topic", "broker", "pairs")
    any_of(plan.assignment, n[0])[columns[n[1] % 3]] = n[2] % 4


def drop_run(plan: Forgery, n: Numbers) -> None:
    if plan.assignment:
        del plan.assignment[n[0] % len(plan.assignment)]


def change_figure(plan: Forgery, n: Numbers) -> None:
    figures = plan.header["figures"]
    figures[sorted(figures)[n[0] % len(figures)]] = n[1]


def change_weight(plan: Forgery, n: Numbers) -> None:
    tables = [lines for _, lines in sorted(plan.weights.items())]
    if tables:
        any_of(tables[n[0] % len(tables)], n[1])["weight"] = n[2]


def lose_weights(plan: Forgery, n: Numbers) -> None:
    if plan.weights and n[0] % 4 == 0:
        plan.lose_weights(sorted(plan.weights)[n[1] % len(plan.weights)])


def change_objective(plan: Forgery, n: Numbers) -> None:
    """Bound and gap follow, so that only the objective can be wrong."""
    if plan.header["kind"] == "fill":
        plan.header |= {"objective": n[0], "bound": n[0], "gap": 0.0}


def change_threshold(plan: Forgery, n: Numbers) -> None:
    if plan.header["kind"] == "provision":
        plan.header["threshold"] = n[0]


EDITS: tuple[Callable[[Forgery, Numbers], None], ...] = (
    put_pair,
    repeat_pair,
    drop_pair,
    drop_broker_of_pair,
    move_pairs,
    drop_row,
    repeat_row,
    rename_row,
    change_broker,
    change_run,
    drop_run,
    change_figure,
    change_weight,
    lose_weights,
    change_objective,
    change_threshold,
)
numbers = st.integers(0, 40)
edits = st.lists(
    st.tuples(st.sampled_from(EDITS), st.tuples(numbers, numbers, numbers)), max_size=4
)


def edited(data: st.DataObject, folder: Path) -> tuple[Workload, Forgery]:
    """A plan in `folder`, edited, its digests mended."""
    workload = data.draw(workloads())
    plan = data.draw(plans(workload))
    assert memory.violations(plan, workload) == []
    forgery = Forgery.of(saved(plan, workload, folder))
    for edit, n in data.draw(edits):
        edit(forgery, n)
    forgery.write(mend_digests=True)
    return workload, forgery


def totals(audit: Audit) -> dict[str, int]:
    return {v.check: v.total for v in audit.violations}


@settings(max_examples=examples(50))
@given(data=st.data())
def test_every_check_counts_what_a_count_by_hand_does(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workload, forgery = edited(data, Path(folder))
        audit = memory.audit_directory(Place(str(forgery.folder)))
        assert totals(audit) == expected_totals(forgery, workload)


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_spark_and_memory_agree(spark: SparkSession, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, forgery = edited(data, Path(folder))
        place = Place(str(forgery.folder))
        assert spark_audit(spark, place) == memory.audit_directory(place)
