"""Texts that Spark would turn into something else by itself, and subqueries that may
have more rows than one: both are found when a run goes wrong, so they are refused."""

import re
from typing import TYPE_CHECKING, Any

from brokerwise.runtime.data_cluster.sql.analyzed import Expression, Plan
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARAMETER = re.compile(r"\b_s`?\.`?p_(\w+)")
# They take a text, and turn it into a time.
_READING = ("expressions.ParseToDate", "expressions.ParseToTimestamp")


def check_conversions(spark: "SparkSession", plan: Plan, text: str) -> None:
    # PySpark does not show whether a cast is the author's own.
    cast: Any = spark._jvm  # noqa: SLF001
    tag = cast.org.apache.spark.sql.catalyst.expressions.Cast.USER_SPECIFIED_CAST()
    for part in plan.everything():
        for expression in part.expressions:
            _check(expression, text, tag)


def _check(expression: Expression, text: str, tag: Any) -> None:
    if expression.kind in _READING:
        return
    if expression.kind == "expressions.Cast" and _surprises(expression.java, tag):
        wanted = str(expression.java.dataType().simpleString())
        raise RefusedQueryError(
            f"{_shown(expression.java.child())} is a text, expected {wanted}: declare "
            "it as such, or write CAST",
            text,
            expression.start,
        )
    if expression.kind == "expressions.ScalarSubquery" and not _is_one(expression):
        raise RefusedQueryError(
            "a subquery that stands for a value must have one row: use an aggregate, "
            "or LIMIT 1",
            text,
            expression.start,
        )
    for inner in expression.inner:
        _check(inner, text, tag)


def _shown(found: Any) -> str:
    sql = str(found.sql())
    parameter = _PARAMETER.search(sql)
    return f":{parameter[1]}" if parameter else sql.replace("`", "")[:80]


def _surprises(cast: Any, tag: Any) -> bool:
    """Whether Spark put it in, and it makes NULL of some texts."""
    if cast.getTagValue(tag).isDefined():
        return False
    source, target = cast.child().dataType(), cast.dataType()
    if source.simpleString() != "string" or target.simpleString() == "string":
        return False
    return not cast.child().foldable() or cast.eval(None) is None


def _is_one(subquery: Expression) -> bool:
    """Spark sees to it itself if the subquery depends on the row around it."""
    assert subquery.plan is not None
    most = subquery.plan.java.maxRows()
    is_one = bool(most.isDefined()) and int(most.get()) <= 1
    return is_one or subquery.java.outerAttrs().size() > 0
