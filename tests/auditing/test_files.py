"""Directories that cannot be audited are refused by name; odd ones are audited."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.auditing.forge import Forgery
from tests.auditing.naive import filled, provisioned, saved

from brokerwise.auditing import memory
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.spark import audit_directory as spark_audit
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.workload import Workload
from brokerwise.storage import subscribers
from brokerwise.storage.place import Place

PART = "placement/part-00000.parquet"
Audits = tuple[Callable[[Path], Audit], Callable[[Path], Audit]]


@pytest.fixture
def both(spark: SparkSession) -> Audits:
    """Both engines, to be asked in turn."""
    return (
        lambda folder: memory.audit_directory(Place(str(folder))),
        lambda folder: spark_audit(spark, Place(str(folder))),
    )


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def refusal(audits: Audits, folder: Path) -> str:
    """What both say."""
    messages = set()
    for audit in audits:
        with pytest.raises(InputError) as refused:
            audit(folder)
        messages.add(refused.value.message)
    assert len(messages) == 1
    return messages.pop().replace(f"{folder.parent}/", "")


def as_float(column: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(column)
        return table.set_column(at, column, table[column].cast(pa.float64()))

    return change


def emptied(column: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(column)
        none = pa.array([None] * len(table), table[column].type)
        return table.set_column(at, column, none)

    return change


@pytest.mark.parametrize("file", ["brokers.parquet", "assignment.parquet", PART])
def test_a_missing_file_is_named(file: str, both: Audits, plan_folder: Path) -> None:
    (plan_folder / file).unlink()
    expected = f"plan/{file} is missing: the directory is not complete"
    assert refusal(both, plan_folder) == expected


@pytest.mark.parametrize("file", ["assignment.parquet", PART])
def test_a_truncated_file_is_named(file: str, both: Audits, plan_folder: Path) -> None:
    content = (plan_folder / file).read_bytes()
    (plan_folder / file).write_bytes(content[: len(content) // 2])
    assert refusal(both, plan_folder).startswith(f"plan/{file} cannot be read: ")


def test_damaged_pages_are_named(both: Audits, plan_folder: Path) -> None:
    content = bytearray((plan_folder / PART).read_bytes())
    content[4:60] = bytes(56)
    (plan_folder / PART).write_bytes(content)
    assert refusal(both, plan_folder).startswith(f"plan/{PART} cannot be read: ")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (
            "brokers.parquet",
            lambda table: table.drop_columns("load"),
            "plan/brokers.parquet has no column 'load'",
        ),
        (
            "assignment.parquet",
            as_float("pairs"),
            "plan/assignment.parquet: column 'pairs' is double, expected int64",
        ),
        (
            "brokers.parquet",
            emptied("load"),
            "plan/brokers.parquet: column 'load' has missing values (4)",
        ),
        (
            PART,
            lambda table: table.drop_columns("brokers"),
            f"plan/{PART} has no column 'brokers'",
        ),
        (
            PART,
            lambda table: table.append_column("note", table["subscriber"]),
            f"plan/{PART}: found a column 'note' too many",
        ),
        (
            PART,
            as_float("subscriber"),
            f"plan/{PART}: column 'subscriber' is double, expected int64",
        ),
    ],
)
def test_other_columns_are_named(
    file: str,
    change: Callable[[pa.Table], pa.Table],
    message: str,
    both: Audits,
    plan_folder: Path,
) -> None:
    rewrite(plan_folder / file, change)
    assert refusal(both, plan_folder) == message


def test_an_empty_place_in_a_list_is_named(both: Audits, plan_folder: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        lists = table["brokers"].to_pylist()
        lists[0][0] = None
        column = pa.array(lists, pa.list_(pa.int32()))
        return table.set_column(2, "brokers", column)

    rewrite(plan_folder / PART, change)
    expected = f"plan/{PART}: column 'brokers' has missing values (1)"
    assert refusal(both, plan_folder) == expected


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kind", "overlay", "plan is a plan of kind 'overlay', expected provision"),
        ("format", 7, "plan/plan.json: found format 7, expected 1"),
        ("threshold", "high", "plan/plan.json: Expected `int | null`, got `str`"),
        ("figures", {"load": "much"}, "plan/plan.json: Expected `int | float`"),
        ("fleet", {"broker_types": []}, "plan.json: fleet: "),
        ("digests", {}, "plan/plan.json has no 'brokers'"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(
    field: str, value: Any, message: str, plan_folder: Path
) -> None:
    forgery = Forgery.of(plan_folder)
    header = {**forgery.header, field: value}
    (plan_folder / "plan.json").write_text(json.dumps(header))
    with pytest.raises(InputError) as refused:
        memory.audit_directory(Place(str(plan_folder)))
    text = refused.value.message.replace(f"{plan_folder.parent}/", "")
    assert text.startswith(message)


def test_another_workload_is_refused(
    both: Audits, plan_folder: Path, newsroom: Workload
) -> None:
    other = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": 1})
    shutil.rmtree(plan_folder.parent / "workload")
    saved(provisioned(other, threshold=1, capacity=2), other, plan_folder.parent / "o")
    (plan_folder.parent / "o" / "workload").rename(plan_folder.parent / "workload")
    assert refusal(both, plan_folder).startswith("workload workload has digest ")
    with pytest.raises(DigestMismatchError):
        memory.audit_directory(Place(str(plan_folder)))


@pytest.mark.parametrize(
    ("table", "column", "values", "message"),
    [
        ("topics", "rate", [99, 8, 5, 3, 0], "workload/topics has digest "),
        ("topics", "rate", [8, 10, 5, 3, 0], "topics must go by descending rate"),
        ("topics", "topic", [1, 0, 2, 3, 4], "topics must be numbered from 0"),
        ("interests", "subscriber", [1, 0, *range(2, 8)], "numbered without a gap"),
        ("interests", "subscriber", list(range(1, 9)), "has the subscribers 1 to 8"),
    ],
)
def test_a_workload_that_has_changed_is_refused(
    table: str,
    column: str,
    values: list[int],
    message: str,
    both: Audits,
    plan_folder: Path,
) -> None:
    path = plan_folder.parent / "workload" / table / "part-00000.parquet"

    def change(found: pa.Table) -> pa.Table:
        at = found.column_names.index(column)
        return found.set_column(at, column, pa.array(values, found[column].type))

    rewrite(path, change)
    assert message in refusal(both, plan_folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subscribers": 9}, "workload has 8 subscribers, workload.json says 9"),
        ({"topics": 6}, "workload has 5 topics, workload.json says 6"),
        ({"period_seconds": 1}, "workload/workload.json has digest "),
    ],
)
def test_a_workload_header_that_is_not_its_files_is_refused(
    change: dict[str, int], message: str, both: Audits, plan_folder: Path
) -> None:
    path = plan_folder.parent / "workload/workload.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert refusal(both, plan_folder).startswith(message)


def test_parts_of_a_workload_in_another_order_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribers, "PAIRS_PER_PART", 1)
    many = np.arange(65_537)
    workload = Workload.from_pairs(topics=many * 0, subscribers=many, rates=[1])
    folder = saved(filled(workload, brokers=1, capacity=2), workload, tmp_path)
    path = tmp_path / "workload/workload.json"
    header = json.loads(path.read_text())
    header["files"]["interests"].reverse()
    path.write_text(json.dumps(header))
    with pytest.raises(InputError, match="found subscriber 65,536 first, expected 0"):
        memory.audit_directory(Place(str(folder)))


def test_long_strings_are_strings(plan_folder: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        column = table["name"].cast(pa.large_string())
        return table.set_column(1, "name", column)

    rewrite(plan_folder.parent / "workload/topics/part-00000.parquet", change)
    assert memory.audit_directory(Place(str(plan_folder))).ok


def test_a_damaged_workload_is_named(both: Audits, plan_folder: Path) -> None:
    file = plan_folder.parent / "workload/interests/part-00000.parquet"
    file.unlink()
    expected = "workload/interests/part-00000.parquet is missing"
    assert refusal(both, plan_folder).startswith(expected)


def test_a_plan_in_several_files_and_blocks_is_audited(
    both: Audits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests go by blocks of 65,536 subscribers, whatever file those are in."""
    monkeypatch.setattr(subscribers, "PAIRS_PER_PART", 1)
    count = 140_000
    workload = Workload.from_pairs(
        topics=np.arange(count) % 7, subscribers=np.arange(count), rates=[9] * 7
    )
    plan = filled(workload, brokers=2, capacity=10**6)
    folder = saved(plan, workload, tmp_path)
    header = json.loads((folder / "plan.json").read_text())
    parts = header["files"]["placement"]
    assert len(parts) == 3
    for audit in both:
        result = audit(folder)
        assert result.violations == ()
        assert (result.pairs, result.subscribers) == (plan.selected.pairs, count)

    swapped = {**header, "files": {"placement": parts[::-1]}}
    (folder / "plan.json").write_text(json.dumps(swapped))
    results = [audit(folder) for audit in both]
    assert results[0] == results[1]
    assert {v.check: v.total for v in results[0].violations} == {
        "digest": 1,
        "subscribers": 2,
    }
    (folder / "plan.json").write_text(json.dumps(header))

    second = folder / "placement/part-00001.parquet"
    rewrite(second, lambda table: table.slice(1))
    results = [audit(folder) for audit in both]
    assert results[0] == results[1]
    checks = {v.check: v.total for v in results[0].violations}
    assert checks["subscribers"] == 1
    assert checks["digest"] == 1


def test_files_that_the_header_does_not_name_are_not_read(
    both: Audits, plan_folder: Path
) -> None:
    shutil.copy(plan_folder / PART, plan_folder / "placement/part-00001.parquet")
    assert [audit(plan_folder).violations for audit in both] == [(), ()]


def test_a_directory_may_have_any_name(
    both: Audits, newsroom: Workload, tmp_path: Path
) -> None:
    folder = tmp_path / "a b [1] {c,d} *?%20#é\\"
    plan = provisioned(newsroom, threshold=12, capacity=45)
    plan_folder = saved(plan, newsroom, folder)
    assert [audit(plan_folder).violations for audit in both] == [(), ()]


def test_an_empty_workload_needs_no_broker(both: Audits, tmp_path: Path) -> None:
    nobody = Workload.from_pairs(topics=[], subscribers=[], rates={"a": 3})
    plan = provisioned(nobody, threshold=1, capacity=6)
    folder = saved(plan, nobody, tmp_path)
    for audit in both:
        result = audit(folder)
        assert result.violations == ()
        assert (result.brokers, result.pairs, result.subscribers) == (0, 0, 0)


def test_loads_beyond_64_bits_are_counted_exactly(both: Audits, tmp_path: Path) -> None:
    huge = 2**61
    workload = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": huge})
    plan = provisioned(workload, threshold=1, capacity=2 * huge)
    forgery = Forgery.of(saved(plan, workload, tmp_path))
    forgery.row(0).update(topics=[0] * 5, brokers=[0] * 5)
    forgery.write(mend_digests=True)
    for audit in both:
        messages = [v.message for v in audit(forgery.folder).violations]
        expected = f"broker 0 carries {6 * huge:,}, its capacity is {2 * huge:,}"
        assert expected in messages
