"""Co-location plans that are right pass; whatever is changed in them is found."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.colocation import model_of, save_model, save_topics
from tests.tiers import examples

from brokerwise.auditing.colocation import (
    audit_colocation_directory,
    colocation_violations,
)
from brokerwise.auditing.findings import CHECKS, ColocationAudit
from brokerwise.model.arrays import Float64s
from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.storage.colocation_plan import (
    ObservedSet,
    Origin,
    read_colocation_header,
    read_colocation_tables,
    write_colocation_plan,
)
from brokerwise.storage.latency_model import read_latency_model
from brokerwise.storage.place import Place
from brokerwise.storage.topic_table import read_topic_source

ROWS: list[tuple[str, float, float, float | str]] = [
    ("a", 10, 20, ""),
    ("b", 5, 30, 120),
    ("c", 10, 40, ""),
    ("d", 20, 10, ""),
]
HOMES = [0, 0, 1, 2, 2]
"""Of a, b, both halves of c, and d."""


def plan_of(topics: TopicTable, predictor: Any, **changed: Any) -> ColocationPlan:
    """Topic c is cut in two; what the model says is asked broker by broker."""
    topic, number = np.array([0, 1, 2, 2, 3]), np.array([0, 0, 0, 1, 0])
    rate = topics.rate_per_second[topic] / np.array([1, 1, 2, 2, 1])
    broker = np.array(HOMES)
    predicted = np.empty(5)
    for at in range(3):
        of = np.flatnonzero(broker == at)
        processing = topics.processing_ms[topic[of]]
        predicted[of] = predictor.p90_ms(processing[None], rate[of][None])[0]
    load = float((topics.processing_ms * topics.rate_per_second).sum()) / 1000
    facts: dict[str, Any] = {
        "algorithm": "ffd",
        "status": Status.FEASIBLE,
        "objective": 3,
        "bound": 2,
        "replicas": Replicas(topic, number, broker, rate, predicted),
        "k": 2,
        "margin": 0.1,
        "figures": {"brokers": 3, "load": load, "topics": 4, "replicas": 5, "split": 1},
        "options": {"target_ms": 100.0},
    }
    return ColocationPlan(**facts | changed)


class Directory:
    """A plan, its topics and its model on disk, to be edited by hand."""

    def __init__(self, path: Path, **more: Any) -> None:
        self.plan, self.topics, self.model = path / "p", path / "t.csv", path / "m"
        save_topics(self.topics, ROWS)
        save_model(self.model)
        source = read_topic_source(Place(str(self.topics)), 100.0)
        stored = read_latency_model(Place(str(self.model)))
        write_colocation_plan(
            plan_of(source.table, stored.model),
            source.table,
            Place(str(self.plan)),
            source=Origin.at(Place(str(self.topics)), source.digest),
            model=Origin.at(Place(str(self.model)), stored.header.digest),
            **more,
        )

    def audit(self) -> ColocationAudit:
        return audit_colocation_directory(Place(str(self.plan)))

    def checks(self) -> set[str]:
        return {violation.check for violation in self.audit().violations}

    def edit_header(self, edit: Callable[[Any], object]) -> None:
        file = self.plan / "plan.json"
        header = json.loads(file.read_text())
        edit(header)
        file.write_text(json.dumps(header))

    def edit_rows(self, table: str, edit: Callable[[list[Any]], object]) -> None:
        """Change a table, and all digests, as someone would who wants to hide it."""
        file = self.plan / f"{table}.parquet"
        found = pq.read_table(file)
        rows = found.to_pylist()
        edit(rows)
        pq.write_table(pa.Table.from_pylist(rows, found.schema), file)
        self.mend()

    def mend(self) -> None:
        place = Place(str(self.plan))
        header = read_colocation_header(place)
        tables = read_colocation_tables(place, header)
        from brokerwise.storage.tables import small_table_digest

        digests = {name: small_table_digest(t) for name, t in tables.items()}
        mended = replace(header, digests=digests, digest="")
        (self.plan / "plan.json").write_text(json.dumps(mended.as_json()))


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


def test_a_right_plan_passes_with_what_was_counted(directory: Directory) -> None:
    audit = directory.audit()
    assert audit.ok and audit.violations == () and audit.source_checked
    assert (audit.topics, audit.replicas, audit.brokers) == (4, 5, 3)
    assert audit.load == pytest.approx(0.2 + 0.15 + 0.4 + 0.2)


def test_a_file_of_topics_that_is_gone_is_not_compared(directory: Directory) -> None:
    directory.topics.unlink()
    audit = directory.audit()
    assert audit.ok and not audit.source_checked


def test_topics_or_a_model_that_changed_are_refused(directory: Directory) -> None:
    text = directory.topics.read_text()
    directory.topics.write_text(text + "\n")
    with pytest.raises(DigestMismatchError, match="has changed since"):
        directory.audit()
    directory.topics.write_text(text)
    assert directory.audit().ok
    other = save_model(directory.plan.parent / "other", cores=2.0)
    with pytest.raises(DigestMismatchError, match="the model of"):
        audit_colocation_directory(Place(str(directory.plan)), Place(other))
    (directory.model / "model.json").unlink()
    with pytest.raises(InputError, match="is not where it says"):
        directory.audit()


def set_row(row: int, **values: Any) -> Callable[[list[Any]], None]:
    return lambda rows: rows[row].update(values)


TABLE_EDITS: dict[str, tuple[str, Callable[[list[Any]], object], set[str]]] = {
    "a topic is gone": (
        "assignment",
        lambda rows: rows.pop(0),
        {"replicas", "totals", "load", "prediction"},
    ),
    "a topic is there twice": (
        "assignment",
        lambda rows: rows.insert(1, {**rows[0], "broker": 1}),
        {"replicas", "totals", "load", "prediction"},
    ),
    "replicas share a broker": (
        "assignment",
        set_row(3, broker=1),
        {"sharing", "load", "prediction"},
    ),
    "a replica's number": ("assignment", set_row(3, replica=2), {"replicas"}),
    "a replica's rate": (
        "assignment",
        set_row(3, rate_per_second=5.0),
        {"replicas", "totals", "load", "prediction"},
    ),
    "too many topics": (
        "assignment",
        set_row(2, broker=0),
        {"sharing", "broker", "totals", "load", "prediction"},
    ),
    "a gap in the brokers": (
        "assignment",
        set_row(2, broker=7),
        {"broker"},
    ),
    "a prediction": ("assignment", set_row(0, predicted_p90_ms=1.0), {"prediction"}),
    "a target": ("assignment", set_row(0, target_ms=900.0), {"replicas"}),
    "the order": ("assignment", lambda rows: rows.reverse(), {"replicas"}),
    "an unknown topic": (
        "assignment",
        set_row(4, topic=9),
        {"replicas", "totals", "load"},
    ),
    "a load": ("brokers", set_row(1, load=0.5), {"load"}),
    "a count": ("brokers", set_row(1, topics=2), {"load"}),
    "a broker less": ("brokers", lambda rows: rows.pop(), {"load"}),
    "a rate of the source": (
        "topics",
        set_row(0, rate_per_second=21.0),
        {"topics", "replicas"},
    ),
    "another name": ("topics", set_row(0, name="z"), {"topics"}),
}


@pytest.mark.parametrize(
    ("table", "edit", "checks"), TABLE_EDITS.values(), ids=TABLE_EDITS.keys()
)
def test_what_was_changed_in_a_table_is_found(
    directory: Directory,
    table: str,
    edit: Callable[[list[Any]], object],
    checks: set[str],
) -> None:
    directory.edit_rows(table, edit)
    assert directory.checks() == checks
    assert checks <= set(CHECKS)


HEADER_EDITS: dict[str, tuple[Callable[[Any], object], set[str]]] = {
    "objective": (lambda h: h.update(objective=2, gap=0.0), {"totals", "bound"}),
    "bound": (lambda h: h.update(bound=4), {"bound"}),
    "gap": (lambda h: h.update(gap=0.1), {"bound"}),
    "status": (lambda h: h.update(status="optimal"), {"bound"}),
    "no status": (lambda h: h.update(status="fine"), {"bound"}),
    "a figure": (lambda h: h["figures"].update(split=0), {"totals"}),
    "a figure is gone": (lambda h: h["figures"].pop("load"), {"totals"}),
    "another plan below the bound": (lambda h: h["figures"].update(ffd=1), {"bound"}),
    "digest": (lambda h: h.update(digest="0" * 64), {"digest"}),
    "digest of a table": (lambda h: h["digests"].update(brokers="0" * 64), {"digest"}),
    "k": (lambda h: h.update(k=1), {"digest", "sharing"}),
    "margin": (lambda h: h.update(margin=0.9), {"digest", "target"}),
    "infeasible": (
        lambda h: h.update(status="infeasible", objective=None, bound=None),
        {"replicas"},
    ),
}


@pytest.mark.parametrize(
    ("edit", "checks"), HEADER_EDITS.values(), ids=HEADER_EDITS.keys()
)
def test_what_was_changed_in_the_header_is_found(
    directory: Directory, edit: Callable[[Any], object], checks: set[str]
) -> None:
    directory.edit_header(edit)
    assert directory.checks() == checks


def test_late_topics_are_named_with_their_neighbours(directory: Directory) -> None:
    directory.edit_header(lambda h: h.update(margin=0.75))
    messages = [v.message for v in directory.audit().violations if v.check == "target"]
    assert messages and all("is allowed" in message for message in messages)
    assert any('topic "' in m and (" beside " in m or " alone" in m) for m in messages)


def test_what_was_seen_to_miss_is_not_to_be_used(tmp_path: Path) -> None:
    missed = ObservedSet((0, 1), (20.0, 30.0), False)
    lower = ObservedSet((0, 1), (25.0, 30.0), False)
    for observed, checks in (((missed,), {"observed"}), ((lower,), set())):
        path = tmp_path / str(len(checks))
        path.mkdir()
        assert Directory(path, observed=observed).checks() == checks


def test_what_was_seen_to_meet_its_targets_is_not_asked_about(tmp_path: Path) -> None:
    met = ObservedSet((0, 1), (20.0, 30.0), True)
    for observed, late in (((), 3), ((met,), 2)):
        path = tmp_path / str(late)
        path.mkdir()
        directory = Directory(path, observed=observed)
        directory.edit_header(lambda h: h.update(margin=0.99))
        found = [v for v in directory.audit().violations if v.check == "target"]
        assert found[0].total == late  # brokers


class Table:
    """Latencies by the number of topics alone: some sizes are late."""

    most_topics = 4

    def __init__(self, late: set[int]) -> None:
        self.late = late

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        size = processing_ms.shape[1]
        return np.full(processing_ms.shape, 150.0 if size in self.late else 50.0)


@settings(max_examples=examples(30))
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    late=st.sets(st.integers(1, 4)),
)
def test_every_part_of_every_broker_is_asked_about(
    sizes: list[int], late: set[int]
) -> None:
    count = sum(sizes)
    topics = TopicTable(
        Names.numbered(count), *(np.full(count, x) for x in (1.0, 2.0, 100.0))
    )
    predictor = Table(late)
    predicted = np.concatenate([np.full(s, 150.0 if s in late else 50) for s in sizes])
    plan = ColocationPlan(
        "ffd",
        Status.FEASIBLE,
        len(sizes),
        0,
        Replicas(
            np.arange(count, dtype=np.int32),
            np.zeros(count, np.int32),
            np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            np.full(count, 2.0),
            predicted,
        ),
        k=4,
        margin=0.1,
    )
    found = [
        v for v in colocation_violations(plan, topics, predictor) if v.check == "target"
    ]
    wrong = sum(any(size in late for size in range(1, s + 1)) for s in sizes)
    assert (found[0].total if found else 0) == wrong


def test_a_plan_in_memory_is_judged_alike() -> None:
    topics = TopicTable(
        Names.of("abcd"),
        np.array([row[1] for row in ROWS]),
        np.array([row[2] for row in ROWS]),
        np.array([100.0, 120.0, 100.0, 100.0]),
    )
    plan = plan_of(topics, model_of())
    assert colocation_violations(plan, topics, model_of()) == []
    wrong = colocation_violations(replace(plan, bound=4), topics, model_of())
    assert [v.check for v in wrong] == ["bound"]
