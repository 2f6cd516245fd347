"""Plans edited by hand: every edit is found and named, by both engines alike."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.auditing.edits import CASES, Case
from tests.auditing.forge import Forgery, forged
from tests.tiers import some

from brokerwise.auditing import memory
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.spark import audit_directory as spark_audit
from brokerwise.storage.place import Place

every_edit = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))

# Compared with the header alone, by code that both engines share.
STATED = (
    *("fleet", "type", "total lost", "bound", "gap", "capacity raised"),
    *("objective", "cost", "price", "load bound", "paper"),
)
COUNTED = {name: case for name, case in CASES.items() if not name.startswith(STATED)}


def said(audit: Audit) -> list[tuple[str, str]]:
    return [(v.check, v.message) for v in audit.violations]


def test_a_plan_that_was_left_alone_is_ok(plan_folder: Path) -> None:
    audit = memory.audit_directory(Place(str(plan_folder)))
    assert audit.violations == ()
    assert (audit.brokers, audit.load, audit.pairs) == (4, 134, 13)
    assert audit.subscribers == 8


@every_edit
def test_an_edit_is_named_even_with_digests_mended(
    case: Case, plan_folder: Path
) -> None:
    forged(plan_folder, case.edit, mend_digests=True)
    assert said(memory.audit_directory(Place(str(plan_folder)))) == list(case.said)


@every_edit
def test_an_edit_without_mended_digests_is_named_beside_the_digests(
    case: Case, plan_folder: Path
) -> None:
    forged(plan_folder, case.edit, mend_digests=False)
    audit = memory.audit_directory(Place(str(plan_folder)))
    digests = [v for v in audit.violations if v.check == "digest"]
    assert bool(digests) == case.digested
    assert said(audit)[len(digests) :] == list(case.said)


@pytest.mark.parametrize("case", some(COUNTED))
def test_spark_finds_and_names_the_same(
    case: Case, plan_folder: Path, spark: SparkSession
) -> None:
    place = Place(str(forged(plan_folder, case.edit, mend_digests=True)))
    audit = spark_audit(spark, place)
    assert said(audit) == list(case.said)
    assert audit == memory.audit_directory(place)


def test_spark_names_an_edit_beside_the_digests(
    plan_folder: Path, spark: SparkSession
) -> None:
    edit = CASES["pair moved"].edit
    place = Place(str(forged(plan_folder, edit, mend_digests=False)))
    audit = spark_audit(spark, place)
    assert [v.check for v in audit.violations].count("digest") == 1
    assert said(audit)[1:] == list(CASES["pair moved"].said)
    assert audit == memory.audit_directory(place)


def test_each_digest_is_compared(plan_folder: Path) -> None:
    """What a digest covers is named by its table."""

    def edit(plan: Forgery) -> None:
        for table in plan.header["digests"]:
            plan.header["digests"][table] = "0" * 64

    forged(plan_folder, edit, mend_digests=False)
    audit = memory.audit_directory(Place(str(plan_folder)))
    assert [m.split(" has digest ")[0] for _, m in said(audit)] == [
        "brokers",
        "assignment",
        "placement",
        "the plan",
    ]


def test_many_violations_are_counted_and_the_first_few_named(
    plan_folder: Path, spark: SparkSession
) -> None:
    def edit(plan: Forgery) -> None:
        plan.rows.clear()

    place = Place(str(forged(plan_folder, edit, mend_digests=True)))
    audit = memory.audit_directory(place)
    missing = [v for v in audit.violations if v.check == "subscribers"]
    assert [v.message for v in missing] == [
        f'subscriber "u{n}" has no row in the placement' for n in range(5)
    ]
    assert {v.total for v in missing} == {8}
    assert audit.total == sum({v.check: v.total for v in audit.violations}.values())
    assert spark_audit(spark, place) == audit
