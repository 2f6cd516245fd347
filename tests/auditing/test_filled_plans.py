"""Plans to fill, edited by hand: every edit is found and named, by every engine."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.auditing.fill_edits import (
    CASES,
    FillCase,
    opera_house,
    plain,
    split,
    weighted,
)
from tests.auditing.forge import Edit, Forgery, forged
from tests.auditing.naive import filled, saved
from tests.tiers import some

from brokerwise.auditing import memory
from brokerwise.auditing.files import open_case
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.memory import violations
from brokerwise.auditing.quick import quick_audit
from brokerwise.auditing.spark import audit_directory as spark_audit
from brokerwise.auditing.spark import explained
from brokerwise.model.errors import InputError
from brokerwise.model.plan import Plan, Status
from brokerwise.model.workload import Weights, Workload
from brokerwise.storage.place import Place

every_edit = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))

# Those that DataFrames must count; the others compare what is stated with the count.
COUNTED = (
    *("others served", "stranger served", "pair nowhere", "weight of a topic"),
    *("weights of topics lost", "larger brokers allowed"),
)


def said(audit: Audit) -> list[tuple[str, str]]:
    return [(v.check, v.message) for v in audit.violations]


def full(folder: Path) -> Audit:
    return memory.audit_directory(Place(str(folder)))


def quick(folder: Path) -> Audit | None:
    return quick_audit(open_case(Place(str(folder))))


MADE: list[Callable[[Workload], Plan]] = [plain, weighted, split]


@pytest.mark.parametrize("made", MADE)
def test_a_plan_that_was_left_alone_is_ok(
    made: Callable[[Workload], Plan], tmp_path: Path, spark: SparkSession
) -> None:
    workload = opera_house()
    plan = made(workload)
    assert violations(plan, workload) == []
    folder = saved(plan, workload, tmp_path)
    audit = full(folder)
    assert audit.violations == ()
    assert (audit.brokers, audit.load, audit.pairs, audit.subscribers) == (3, 92, 9, 8)
    assert quick(folder) == audit
    assert spark_audit(spark, Place(str(folder))) == audit
    assert explained(spark, open_case(Place(str(folder)))) == audit


def test_the_plans_are_worth_what_was_counted_by_hand() -> None:
    workload = opera_house()
    one, other = weighted(workload), plain(workload)
    assert (one.objective, one.weighted_wanted, one.delivered) == (272, 418, 56)
    assert (other.objective, other.wanted, other.left_out) == (56, 136, 1)
    assert other.bound_paper == 97


@every_edit
def test_an_edit_is_named_even_with_digests_mended(
    case: FillCase, tmp_path: Path
) -> None:
    folder = forged(case.folder(tmp_path), case.edit, mend_digests=True)
    assert said(full(folder)) == list(case.said)


@every_edit
def test_an_edit_without_mended_digests_is_named_beside_the_digests(
    case: FillCase, tmp_path: Path
) -> None:
    folder = forged(case.folder(tmp_path), case.edit, mend_digests=False)
    digests = [v for v in full(folder).violations if v.check == "digest"]
    assert bool(digests) == case.digested
    assert said(full(folder))[len(digests) :] == list(case.said)


@every_edit
def test_the_quick_check_finds_every_edit(case: FillCase, tmp_path: Path) -> None:
    """What it cannot name is left to the full audit."""
    folder = forged(case.folder(tmp_path), case.edit, mend_digests=True)
    audit = quick(folder)
    assert audit is None or not audit.ok
    assert audit in (None, full(folder))


@pytest.mark.parametrize("name", some({name: name for name in COUNTED}))
def test_spark_finds_and_names_the_same(
    name: str, tmp_path: Path, spark: SparkSession
) -> None:
    case = CASES[name]
    folder = forged(case.folder(tmp_path), case.edit, mend_digests=True)
    audit = explained(spark, open_case(Place(str(folder))))
    assert said(audit) == list(case.said)
    assert audit == full(folder)


@pytest.mark.parametrize("table", ["topic_weights", "subscriber_weights"])
def test_weights_that_were_not_approved_are_named(table: str, tmp_path: Path) -> None:
    folder = CASES["weight of a topic"].folder(tmp_path)

    def edit(plan: Forgery) -> None:
        plan.weights[table][0]["weight"] = 2

    forged(folder, edit, mend_digests=False)
    first, *_ = said(full(folder))
    assert first[0] == "digest"
    assert first[1].startswith(f"{table} has digest ")
    audit = quick(folder)
    assert audit is not None
    assert said(audit)[0] == first


WRONG_TABLES: dict[str, tuple[Edit, str]] = {
    "beyond": (
        lambda plan: plan.weights["topic_weights"][1].update(topic=6),
        "plan/topic_weights.parquet: found topic 6, expected each at most once, "
        "ascending, and below 6",
    ),
    "negative": (
        lambda plan: plan.weights["subscriber_weights"][0].update(subscriber=-1),
        "plan/subscriber_weights.parquet: found subscriber -1, expected each at most "
        "once, ascending, and below 8",
    ),
    "twice": (
        lambda plan: plan.weights["topic_weights"][1].update(topic=3),
        "plan/topic_weights.parquet: found topic 3, expected each at most once, "
        "ascending, and below 6",
    ),
    "less than nothing": (
        lambda plan: plan.weights["topic_weights"][0].update(weight=-1),
        "plan/topic_weights.parquet: found weight -1, expected from 0 to 1,000,000",
    ),
    "too heavy": (
        lambda plan: plan.weights["subscriber_weights"][0].update(weight=10**6 + 1),
        "plan/subscriber_weights.parquet: found weight 1,000,001, expected from 0 to "
        "1,000,000",
    ),
    "for others": (
        lambda plan: plan.header["weighted"].update(topic_weights=7),
        "plan/plan.json: topic_weights are for 7, the workload has 6",
    ),
    "without a digest": (
        lambda plan: plan.header["digests"].pop("topic_weights"),
        "plan/plan.json: digests has no 'topic_weights'",
    ),
    "without a table": (
        lambda plan: plan.header["tables"].pop("subscriber_weights"),
        "plan/plan.json: tables has no 'subscriber_weights'",
    ),
    "without a number": (
        lambda plan: plan.header.pop("weighted"),
        "plan/plan.json: weighted has no 'topic_weights'",
    ),
    "of brokers": (
        lambda plan: plan.header["weighted"].update(broker_weights=3),
        "plan/plan.json: weighted has 'broker_weights' 3, expected how many "
        "topic_weights and subscriber_weights are for",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_TABLES)
def test_weights_that_cannot_be_used_are_refused_by_name(
    wrong: str, tmp_path: Path
) -> None:
    edit, message = WRONG_TABLES[wrong]
    folder = CASES["weight of a topic"].folder(tmp_path)
    forged(folder, edit, mend_digests=False)
    with pytest.raises(InputError) as refused:
        open_case(Place(str(folder)))
    assert refused.value.message.replace(f"{tmp_path}/", "") == message


def test_a_table_of_weights_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = CASES["weight of a topic"].folder(tmp_path)
    (folder / "topic_weights.parquet").unlink()
    with pytest.raises(InputError, match=r"topic_weights\.parquet is missing"):
        full(folder)


def test_weights_of_another_workload_are_refused_in_memory() -> None:
    workload = opera_house()
    plan = replace(plain(workload), weights=Weights(np.ones(5, np.int64)))
    with pytest.raises(InputError, match="topic_weights: found 5, expected 6"):
        violations(plan, workload)


def test_a_plan_in_memory_is_judged_by_its_objective() -> None:
    workload = opera_house()
    plan = replace(weighted(workload), objective=273, figures={})
    assert [(v.check, v.message) for v in violations(plan, workload)] == [
        ("objective", "the objective is 273, the pairs served are worth 272")
    ]


def test_bounds_are_whole_numbers_and_judged_exactly() -> None:
    """What is within rounding of prices is a pair too many here."""
    workload = Workload.from_pairs(
        topics=["a"] * 3, subscribers=["u", "v", "w"], rates={"a": 10**12}
    )
    plan = filled(workload, brokers=1, capacity=4 * 10**12)
    assert plan.objective == 3 * 10**12
    lower = replace(plan, bound=3 * 10**12 - 1, figures={})
    assert [v.message for v in violations(lower, workload)] == [
        "the objective 3,000,000,000,000 is above its bound 2,999,999,999,999"
    ]
    proud = replace(lower, bound=3 * 10**12, status=Status.OPTIMAL)
    assert violations(proud, workload) == []


@pytest.mark.parametrize("weight", [1, 10**6])
def test_values_beyond_64_bits_are_counted_exactly(
    weight: int, tmp_path: Path, spark: SparkSession
) -> None:
    """The objective is then stated as the nearest number in floating point."""
    rate = 2**61 + 1
    workload = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": rate})
    each = Weights(np.array([weight]), np.array([weight]))
    plan = filled(workload, brokers=1, capacity=2 * rate, weights=each)
    folder = saved(plan, workload, tmp_path)
    assert plan.figures["weighted_wanted"] == rate * weight**2
    assert full(folder).ok
    assert explained(spark, open_case(Place(str(folder)))) == full(folder)


EMPTY: dict[str, dict[str, Any]] = {
    "nobody": {"topics": [], "subscribers": []},
    "nothing to send": {"topics": ["b"], "subscribers": ["u"]},
}


@pytest.mark.parametrize("pairs", EMPTY)
def test_where_nothing_is_wanted_everything_is_delivered(
    pairs: str, tmp_path: Path, spark: SparkSession
) -> None:
    workload = Workload.from_pairs(**EMPTY[pairs], rates={"a": 3, "b": 0})
    plan = filled(workload, brokers=1, capacity=1)
    plan = replace(plan, status=Status.OPTIMAL)
    assert (plan.delivered_percent, plan.left_out) == (100, 0)
    folder = saved(plan, workload, tmp_path)
    audit = full(folder)
    assert audit.ok
    assert quick(folder) == audit
    assert explained(spark, open_case(Place(str(folder)))) == audit
    forged(folder, edit_percent, mend_digests=True)
    assert not full(folder).ok


def edit_percent(plan: Forgery) -> None:
    plan.header["figures"]["delivered_percent"] = 0.0


def test_nothing_delivered_has_no_gap_in_json(tmp_path: Path) -> None:
    """No share of nothing says how far it is from something."""
    workload = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": 3})
    plan = filled(workload, brokers=1, capacity=5)
    assert (plan.objective, plan.bound, plan.left_out) == (0, 3, 1)
    folder = saved(plan, workload, tmp_path)
    assert json.loads((folder / "plan.json").read_text())["gap"] is None
    assert full(folder).ok
    assert quick(folder) == full(folder)
