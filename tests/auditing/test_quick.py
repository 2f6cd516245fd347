"""The quick check: plans that are right are clean, and nothing else is."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.auditing.edits import CASES, Case
from tests.auditing.forge import Edit, Forgery, forged
from tests.auditing.naive import filled, provisioned, saved
from tests.auditing.test_random_edits import edited
from tests.tiers import examples

from brokerwise.auditing import memory
from brokerwise.auditing.files import open_case
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.quick import quick_audit
from brokerwise.auditing.shares import Share, shares_of
from brokerwise.auditing.spark import audit_directory as spark_audit
from brokerwise.auditing.spark import explained
from brokerwise.model.interests import BLOCK
from brokerwise.model.plan import Plan, Status
from brokerwise.model.workload import NO_THRESHOLD, Weights, Workload
from brokerwise.storage import plan as plan_storage
from brokerwise.storage import subscribers
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import part_digests
from brokerwise.storage.tables import table_digest
from brokerwise.storage.workload import read_header


def quick(folder: Path) -> Audit | None:
    return quick_audit(open_case(Place(str(folder))))


def clean(folder: Path) -> bool:
    audit = quick(folder)
    return audit is not None and audit.ok


def full(folder: Path) -> Audit:
    return memory.audit_directory(Place(str(folder)))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_no_edit_is_clean(case: Case, plan_folder: Path) -> None:
    assert clean(plan_folder)
    assert not clean(forged(plan_folder, case.edit, mend_digests=True))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_it_names_is_what_the_full_audit_names(
    case: Case, plan_folder: Path
) -> None:
    forged(plan_folder, case.edit, mend_digests=True)
    assert quick(plan_folder) in (None, full(plan_folder))


def with_own_thresholds(workload: Workload) -> Workload:
    own = np.full(workload.subscribers, NO_THRESHOLD, np.int64)
    own[3], own[7] = 0, 18
    return replace(workload, thresholds=own)


def weights_of(workload: Workload) -> Weights:
    """From 0 to 4, in turn."""
    counts = (workload.topics, workload.subscribers)
    return Weights(*(np.arange(count) % 5 for count in counts))


def infeasible(workload: Workload) -> Plan:
    return replace(
        provisioned(workload, threshold=0, capacity=45),
        status=Status.INFEASIBLE,
        objective=None,
        bound=None,
        threshold=12,
        figures={},
    )


RIGHT: dict[str, Callable[[Workload], tuple[Plan, Workload]]] = {
    "provision": lambda w: (provisioned(w, threshold=12, capacity=45), w),
    "everything": lambda w: (provisioned(w, threshold=2**62, capacity=45), w),
    "nothing": lambda w: (provisioned(w, threshold=0, capacity=45), w),
    "prices": lambda w: (
        provisioned(
            w, threshold=12, capacity=45, gigabyte_usd=9e5, gigabyte_in_usd=1e6
        ),
        w,
    ),
    "fill": lambda w: (filled(w, brokers=2, capacity=45), w),
    "weighted": lambda w: (
        filled(w, brokers=2, capacity=45, weights=weights_of(w)),
        w,
    ),
    "infeasible": lambda w: (infeasible(w), w),
    "own thresholds": lambda w: (
        provisioned(with_own_thresholds(w), threshold=10, capacity=45),
        with_own_thresholds(w),
    ),
}


@pytest.mark.parametrize("make", RIGHT.values(), ids=list(RIGHT))
def test_a_plan_that_is_right_is_clean(
    make: Callable[[Workload], tuple[Plan, Workload]],
    newsroom: Workload,
    tmp_path: Path,
) -> None:
    folder = saved(*make(newsroom), tmp_path)
    assert clean(folder)
    assert quick(folder) == full(folder)


def test_an_empty_workload_is_clean(tmp_path: Path) -> None:
    nobody = Workload.from_pairs(topics=[], subscribers=[], rates={"a": 3})
    folder = saved(provisioned(nobody, threshold=1, capacity=6), nobody, tmp_path)
    assert clean(folder)
    assert quick(folder) == full(folder)


def test_a_missed_threshold_of_a_subscriber_s_own_is_not_clean(
    newsroom: Workload, tmp_path: Path
) -> None:
    lazy = provisioned(newsroom, threshold=10, capacity=45)
    assert not clean(saved(lazy, with_own_thresholds(newsroom), tmp_path))


def test_files_have_names_of_their_own_on_an_object_store(plan_folder: Path) -> None:
    header = json.loads((plan_folder / "plan.json").read_text())

    def renamed(name: str) -> str:
        new = name.replace(".parquet", "-0a1b2c.parquet")
        (plan_folder / name).rename(plan_folder / new)
        return new

    header["tables"] = {t: renamed(name) for t, name in header["tables"].items()}
    header["files"]["placement"] = [
        renamed(f"placement/{name}").removeprefix("placement/")
        for name in header["files"]["placement"]
    ]
    (plan_folder / "plan.json").write_text(json.dumps(header))
    assert clean(plan_folder)


@pytest.fixture
def three_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """140,000 subscribers with weights: the workload in three files, the plan in
    two."""
    monkeypatch.setattr(subscribers, "PAIRS_PER_PART", 1)
    monkeypatch.setattr(plan_storage, "blocks_per_part", lambda *_: 2)
    count = 140_000
    workload = Workload.from_pairs(
        topics=np.arange(count) % 7, subscribers=np.arange(count), rates=[9] * 7
    )
    plan = filled(workload, brokers=2, capacity=10**6, weights=weights_of(workload))
    return saved(plan, workload, tmp_path)


def test_files_may_be_cut_at_different_places(
    three_blocks: Path, spark: SparkSession
) -> None:
    case = open_case(Place(str(three_blocks)))
    assert len(case.header.files["interests"]) == 3
    assert len(case.plan.parts) == 2
    audit = full(three_blocks)
    assert audit.ok
    for cores in (1, 2, 3, 8):
        assert quick_audit(case, cores=cores) == audit
    assert spark_audit(spark, Place(str(three_blocks))) == audit


def test_every_block_is_in_one_share(three_blocks: Path) -> None:
    case = open_case(Place(str(three_blocks)))
    for tasks in range(1, 5):
        shares = shares_of(case, tasks)
        assert len(shares) == min(tasks, 3)
        parts = [part for share in shares for part in share.parts]
        assert parts == case.header.files["interests"]
        assert [share.first for share in shares] == [
            sum(len(s.parts) for s in shares[:n]) for n in range(len(shares))
        ]
        assert all(len(blocks_of(share)) == len(share.parts) for share in shares)
        assert [block for share in shares for block in blocks_of(share)] == [
            (case.plan.parts[0], 0),
            (case.plan.parts[0], 1),
            (case.plan.parts[1], 0),
        ]


def blocks_of(share: Share) -> list[tuple[str, int]]:
    return [
        (part.name, group)
        for part in share.groups
        for group in range(part.start, part.stop)
    ]


def test_blocks_in_the_wrong_order_are_not_clean(three_blocks: Path) -> None:
    header = json.loads((three_blocks / "plan.json").read_text())
    header["files"]["placement"].reverse()
    (three_blocks / "plan.json").write_text(json.dumps(header))
    assert not clean(three_blocks)


def test_a_pair_moved_in_the_last_block_is_not_clean(three_blocks: Path) -> None:
    path = sorted((three_blocks / "placement").iterdir())[-1]
    table = pq.read_table(path)
    brokers = table["brokers"].to_pylist()
    at = next(i for i, row in enumerate(brokers) if row)
    brokers[at] = [1 - brokers[at][0]]
    column = pa.array(brokers, table["brokers"].type)
    pq.write_table(table.set_column(2, "brokers", column), path, row_group_size=BLOCK)
    assert quick(three_blocks) is None


def test_other_row_groups_are_left_to_the_full_audit(
    three_blocks: Path, spark: SparkSession
) -> None:
    """A plan that someone has rewritten can still be right."""
    for path in (three_blocks / "placement").iterdir():
        pq.write_table(pq.read_table(path), path, row_group_size=50_000)
    assert quick(three_blocks) is None
    audit = spark_audit(spark, Place(str(three_blocks)))
    assert audit.ok
    assert audit == full(three_blocks)


def test_sums_near_the_limit_are_left_to_the_full_audit(
    tmp_path: Path, spark: SparkSession
) -> None:
    rate = 2**62 - 1
    workload = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": rate})
    plan = provisioned(workload, threshold=1, capacity=2 * rate)
    folder = saved(plan, workload, tmp_path)
    assert quick(folder) is None
    audit = spark_audit(spark, Place(str(folder)))
    assert (audit.violations, audit.load) == ((), 2 * rate)


def test_rates_near_the_limit_are_left_to_the_full_audit(tmp_path: Path) -> None:
    """Even if nobody wants those topics."""
    rates = {"a": 2**61, "b": 2**61, "c": 2**61, "d": 1}
    workload = Workload.from_pairs(topics=["d"], subscribers=["u"], rates=rates)
    plan = provisioned(workload, threshold=1, capacity=2**62)
    folder = saved(plan, workload, tmp_path)
    assert quick(folder) is None
    assert full(folder).ok


def test_a_file_too_many_is_not_clean(plan_folder: Path) -> None:
    """Nobody wants what is in it, and no digest tells of it."""
    header = json.loads((plan_folder / "plan.json").read_text())
    first = plan_folder / "placement" / header["files"]["placement"][0]
    stray = {"subscriber": [8], "topics": [[0]], "brokers": [[0]]}
    table = pa.table(stray, schema=pq.read_schema(first))
    pq.write_table(table, first.with_name("stray.parquet"))
    header["files"]["placement"].append("stray.parquet")
    (plan_folder / "plan.json").write_text(json.dumps(header))
    assert quick(plan_folder) is None


def test_runs_in_any_order_are_clean(plan_folder: Path) -> None:
    forged(plan_folder, lambda plan: plan.assignment.reverse(), mend_digests=True)
    assert clean(plan_folder)


def shift_a_broker(plan: Forgery) -> None:
    """All brokers one after the other are the same; only the lists are not."""
    plan.row(0)["brokers"], shifted = plan.row(0)["brokers"][:1], plan.row(0)["brokers"]
    plan.row(1)["brokers"] = [*shifted[1:], *plan.row(1)["brokers"]]


def swap_neighbours(plan: Forgery) -> None:
    one, other = plan.row(3), plan.row(4)
    one["subscriber"], other["subscriber"] = 4, 3


def renumber_a_broker(plan: Forgery) -> None:
    plan.brokers[2]["broker"] = 4


def list_a_run_without_pairs(plan: Forgery) -> None:
    plan.assignment.append({"topic": 4, "broker": 0, "pairs": 0})


@pytest.mark.parametrize(
    "edit",
    [shift_a_broker, swap_neighbours, renumber_a_broker, list_a_run_without_pairs],
)
def test_what_is_odd_is_left_to_the_full_audit(edit: Edit, plan_folder: Path) -> None:
    assert quick(forged(plan_folder, edit, mend_digests=True)) is None


def test_a_workload_whose_lists_do_not_ascend_is_not_clean(plan_folder: Path) -> None:
    """Even if that is what its digest says."""
    workload = Place(str(plan_folder.parent / "workload"))
    path = plan_folder.parent / "workload/interests/part-00000.parquet"
    table = pq.read_table(path)
    lists = [[*row, 4, 4] for row in table["topics"].to_pylist()]  # of rate 0
    column = pa.array(lists, table["topics"].type)
    pq.write_table(table.set_column(1, "topics", column), path)
    header = read_header(workload)
    digests = part_digests(workload, "part-00000.parquet")
    changed = replace(
        header,
        pairs=header.pairs + 2 * len(lists),
        digests={**header.digests, "interests": table_digest(digests.interests)},
        digest="",
    )
    (workload / "workload.json").write(json.dumps(changed.as_json()).encode())

    def approve(plan: Forgery) -> None:
        plan.header["workload"]["digest"] = changed.digest

    forged(plan_folder, approve, mend_digests=True)
    assert quick(plan_folder) is None


@pytest.mark.parametrize("table", ["brokers", "assignment", "placement", "digest"])
def test_a_digest_that_differs_is_not_clean(table: str, plan_folder: Path) -> None:
    def edit(plan: Forgery) -> None:
        if table == "digest":
            plan.header["digest"] = "0" * 64
        else:
            plan.header["digests"][table] = "0" * 64

    forged(plan_folder, edit, mend_digests=False)
    assert not clean(plan_folder)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("topics", "rate", 11),
        ("topics", "name", "World"),
        ("subscribers", "name", "U0"),
        ("interests", "topics", [0]),
    ],
)
def test_a_workload_that_has_changed_is_not_clean(
    table: str, column: str, value: object, plan_folder: Path
) -> None:
    path = plan_folder.parent / "workload" / table / "part-00000.parquet"
    found = pq.read_table(path)
    values = [value, *found[column].to_pylist()[1:]]
    at = found.column_names.index(column)
    changed = found.set_column(at, column, pa.array(values, found[column].type))
    pq.write_table(changed, path)
    assert quick(plan_folder) is None


@pytest.mark.parametrize("count", ["topics", "subscribers", "pairs", "period_seconds"])
def test_a_workload_header_that_lies_is_not_clean(
    count: str, plan_folder: Path
) -> None:
    path = plan_folder.parent / "workload/workload.json"
    header = json.loads(path.read_text())
    path.write_text(json.dumps(header | {count: header[count] + 1}))
    assert quick(plan_folder) is None


@settings(max_examples=examples(50))
@given(data=st.data())
def test_clean_is_what_the_full_audit_finds_right(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, forgery = edited(data, Path(folder))
        found, audit = quick(forgery.folder), full(forgery.folder)
        assert found in (None, audit)
        # Lists in another order, and lines for nothing, are left to the full audit.
        tidy = all(row["topics"] == sorted(row["topics"]) for row in forgery.rows)
        tidy &= all(line["pairs"] for line in forgery.assignment)
        assert (found is not None) or not (audit.ok and tidy)


@pytest.mark.parametrize("edit", ["total changed", "price raised", "load changed"])
def test_the_full_audit_on_spark_names_what_is_only_stated(
    edit: str, plan_folder: Path, spark: SparkSession
) -> None:
    """The quick check names these; the full one must say the same."""
    forged(plan_folder, CASES[edit].edit, mend_digests=True)
    found = quick(plan_folder)
    assert found is not None
    assert not found.ok
    assert explained(spark, open_case(Place(str(plan_folder)))) == found
