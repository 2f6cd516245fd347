"""Plans that are audited before they appear: all is written but plan.json."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.auditing.edits import CASES
from tests.auditing.forge import forged
from tests.auditing.naive import provisioned

from brokerwise.auditing import memory
from brokerwise.auditing.files import Case, staged_case
from brokerwise.auditing.quick import quick_audit
from brokerwise.auditing.spark import audit_case as spark_audit
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan_header, write_plan
from brokerwise.storage.workload import read_header, write_workload


def staged(folder: Path, kind: str = "provision") -> Case:
    """The plan of a folder, from which plan.json is taken away."""
    place, workload = Place(str(folder)), Place(str(folder.parent / "workload"))
    header = replace(read_plan_header(place), kind=kind)
    (folder / "plan.json").unlink()
    return staged_case(place, header, workload, read_header(workload))


def test_a_staged_plan_that_is_right_is_ok(
    plan_folder: Path, spark: SparkSession
) -> None:
    case = staged(plan_folder)
    audit = memory.audit_case(case)
    assert audit.ok
    assert (audit.brokers, audit.load, audit.pairs) == (4, 134, 13)
    assert spark_audit(spark, case) == audit


def test_a_header_that_never_was_a_file_will_do(
    newsroom: Workload, tmp_path: Path
) -> None:
    """As a planner has it: with tuples, and numbers of numpy's."""
    plan = provisioned(newsroom, threshold=12, capacity=45)
    counts: dict[str, Any] = {
        n: np.int64(plan.figures[n]) for n in ("incoming", "outgoing")
    }
    plan = replace(plan, figures={**plan.figures, **counts})
    place, workload = Place(str(tmp_path / "plan")), Place(str(tmp_path / "workload"))
    wanted = write_workload(newsroom, workload)
    header = write_plan(plan, place, workload=workload, workload_digest=wanted.digest)
    (tmp_path / "plan" / "plan.json").unlink()
    case = staged_case(place, header, workload, wanted)
    assert memory.audit_case(case).ok
    assert quick_audit(case) == memory.audit_case(case)


def test_what_is_wrong_with_a_staged_plan_is_named(
    plan_folder: Path, spark: SparkSession
) -> None:
    edit = CASES["pair moved"]
    case = staged(forged(plan_folder, edit.edit, mend_digests=True))
    audit = memory.audit_case(case)
    assert [(v.check, v.message) for v in audit.violations] == list(edit.said)
    assert spark_audit(spark, case) == audit


def test_a_staged_plan_of_another_kind_is_refused(plan_folder: Path) -> None:
    with pytest.raises(InputError, match="kind 'overlay'"):
        staged(plan_folder, kind="overlay")


def test_a_staged_plan_for_another_workload_is_refused(plan_folder: Path) -> None:
    place, workload = Place(str(plan_folder)), plan_folder.parent / "workload"
    header = read_header(Place(str(workload)))
    with pytest.raises(DigestMismatchError):
        staged_case(
            place,
            read_plan_header(place),
            Place(str(workload)),
            replace(header, digest="0" * 64),
        )
