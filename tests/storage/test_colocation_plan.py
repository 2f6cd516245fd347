"""Co-location plans on disk: what is written is what is read, and nothing else is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.storage.colocation_plan import (
    ColocationHeader,
    Follows,
    ObservedSet,
    Origin,
    observed_of_table,
    read_colocation_header,
    read_colocation_plan,
    write_colocation_plan,
)
from brokerwise.storage.place import Place

SOURCE, MODEL = Origin("topics.csv", "1" * 64), Origin("model", "2" * 64)
TOPICS = TopicTable(
    Names.of(["gps", "é"]),
    np.array([4.0, 8.0]),
    np.array([100.0, 60.0]),
    np.array([500.0, 250.0]),
)
SEEN = (ObservedSet((0, 1), (100.0, 20.0), False), ObservedSet((1,), (40.0,), True))


def plan_of(**changed: Any) -> ColocationPlan:
    replicas = Replicas(
        topic=np.array([0, 1, 1]),
        number=np.array([0, 0, 1]),
        broker=np.array([0, 0, 1]),
        rate_per_second=np.array([100.0, 20.0, 40.0]),
        predicted_p90_ms=np.array([20.0, 30.0, 10.0]),
    )
    facts: dict[str, Any] = {
        "algorithm": "ffd",
        "status": Status.FEASIBLE,
        "objective": 2,
        "bound": 1,
        "replicas": replicas,
        "k": 2,
        "margin": 0.1,
        "figures": {"brokers": 2},
        "options": {"split": True},
        "seed": 3,
    }
    return ColocationPlan(**facts | changed)


def write(path: Path, **more: Any) -> ColocationHeader:
    return write_colocation_plan(
        more.pop("plan", plan_of()),
        TOPICS,
        Place(str(path)),
        source=SOURCE,
        model=MODEL,
        **more,
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write(tmp_path / "p")
    return tmp_path / "p"


def test_a_plan_goes_to_disk_and_back(written: Path) -> None:
    stored = read_colocation_plan(Place(str(written)))
    plan, expected = stored.plan, plan_of()
    for column in ("topic", "number", "broker", "rate_per_second"):
        found = getattr(plan.replicas, column)
        assert found.tolist() == getattr(expected.replicas, column).tolist()
    assert (plan.objective, plan.bound, plan.gap, plan.k) == (2, 1, 0.5, 2)
    assert (plan.margin, plan.seed, plan.algorithm) == (0.1, 3, "ffd")
    assert list(stored.topics.names) == ["gps", "é"] and stored.observed == ()
    assert (stored.header.source, stored.header.model) == (SOURCE, MODEL)
    brokers = pq.read_table(written / "brokers.parquet").to_pylist()
    assert [row["topics"] for row in brokers] == [2, 1]
    loads = [row["load"] for row in brokers]
    assert loads == pytest.approx([0.4 + 0.16, 0.32])


def test_what_was_observed_goes_with_it(tmp_path: Path) -> None:
    follows = Follows(Origin("old", "3" * 64), Origin("data", "4" * 64))
    header = write(tmp_path / "p", follows=follows, observed=SEEN)
    stored = read_colocation_plan(Place(str(tmp_path / "p")))
    assert stored.observed == SEEN and stored.header.follows == follows
    assert header.digest != write(tmp_path / "q").digest


def test_the_same_plan_has_the_same_digest(written: Path, tmp_path: Path) -> None:
    first = read_colocation_header(Place(str(written))).digest
    assert write(tmp_path / "same").digest == first
    assert write(tmp_path / "k", plan=plan_of(k=3)).digest != first
    assert write(tmp_path / "margin", plan=plan_of(margin=0.2)).digest != first


def test_a_table_that_was_changed_is_refused(written: Path) -> None:
    table = pq.read_table(written / "assignment.parquet")
    rows = table.to_pylist()
    rows[0]["broker"] = 1
    pq.write_table(
        pa.Table.from_pylist(rows, table.schema), written / "assignment.parquet"
    )
    with pytest.raises(DigestMismatchError, match="assignment"):
        read_colocation_plan(Place(str(written)))


EDITS: dict[str, tuple[Callable[[Any], object], str]] = {
    "k": (lambda h: h.update(k=5), "has changed since"),
    "model": (lambda h: h["model"].update(digest="9" * 64), "has changed since"),
    "status": (lambda h: h.update(status="fine"), "found status 'fine'"),
    "kind": (lambda h: h.update(kind="fill"), "of kind 'fill', expected colocate"),
    "tables": (lambda h: h["tables"].pop("brokers"), "has no 'brokers'"),
    "observed": (lambda h: h["tables"].update(observed="x"), "digests and tables"),
    "outside": (lambda h: h["tables"].update(topics="../x"), "outside its directory"),
}


@pytest.mark.parametrize(("edit", "message"), EDITS.values(), ids=EDITS.keys())
def test_a_header_that_was_changed_is_refused(
    written: Path, edit: Callable[[Any], object], message: str
) -> None:
    file = written / "plan.json"
    header = json.loads(file.read_text())
    edit(header)
    file.write_text(json.dumps(header))
    with pytest.raises(InputError, match=message):
        read_colocation_plan(Place(str(written)))


def test_a_plan_for_other_topics_is_not_written(tmp_path: Path) -> None:
    few = TopicTable(Names.of(["a"]), *(np.ones(1) for _ in range(3)))
    with pytest.raises(InputError, match="the plan is for 1 topics"):
        write_colocation_plan(
            plan_of(), few, Place(str(tmp_path / "p")), source=SOURCE, model=MODEL
        )
    assert not (tmp_path / "p").exists()


def test_sets_that_were_observed_are_numbered_in_order() -> None:
    table = pa.table({"set": pa.array([1, 0], pa.int32())})
    with pytest.raises(InputError, match="numbered from 0"):
        observed_of_table(table)
