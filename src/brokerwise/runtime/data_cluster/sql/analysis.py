"""What Spark's analysis made of a query: read into plain Python values, and checked.

Refused here: what `allowed.py` does not name (`read_analyzed`), joins that relate
nothing (`check_joins`), conversions that Spark adds by itself and subqueries that may
have more rows than one, which only a run would find (`check_conversions`), and columns
that JSON does not have (`result_columns`).

What is joined (JOIN, commas, WHERE above them) must hang together by conditions that
say something of two of them. Else every row of one meets every row of the other, which
only a LIMIT over it keeps in bounds. What has at most one row, such as a keyed dataset
of which one key is asked for, may stand beside anything.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brokerwise.runtime.data_cluster.sql.allowed import (
    ANALYZED_EXPRESSIONS,
    ANALYZED_PLANS,
    ANALYZED_SUBQUERIES,
    CALLS,
    CATALYST,
    REPLACED,
    refusal_reason,
)
from brokerwise.runtime.data_cluster.sql.errors import PARAMETER, RefusedQueryError
from brokerwise.runtime.data_cluster.sql.splice import SplicedQuery
from brokerwise.runtime.protocol.data import ColumnInfo, Dataset, DatasetKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_NODES = 20_000
MAX_LIMIT = 10_000
_JOIN, _FILTER = "plans.logical.Join", "plans.logical.Filter"
_ALIAS, _LIMIT = "plans.logical.SubqueryAlias", "plans.logical.GlobalLimit"
_VIEW = "plans.logical.View"
_KEEPING = ("plans.logical.LocalLimit", "plans.logical.Project", "plans.logical.Sort")
_REGION = (_JOIN, _FILTER, _ALIAS)
# They take a text, and turn it into a time.
_READING = ("expressions.ParseToDate", "expressions.ParseToTimestamp")
_PLAIN = re.compile(
    r"string|long|integer|short|byte|double|float|boolean|date|timestamp"
    r"|timestamp_ntz|decimal\(\d+,-?\d+\)"
)


@dataclass(frozen=True)
class Expression:
    """`java` is Spark's own; `start` is in the channel's SQL, -1 if that is not
    known; `plan` is the query of a subquery; `attribute` the number of the column
    that it is, 0 if it is none."""

    kind: str
    inner: tuple["Expression", ...]
    java: Any
    start: int
    plan: "Plan | None" = None
    attribute: int = 0

    def everything(self) -> Iterator["Expression"]:
        """It and all in it, without the queries of subqueries."""
        yield self
        for expression in self.inner:
            yield from expression.everything()

    def references(self) -> frozenset[int]:
        """The columns in it, without the parameters, which are of an outer query."""
        if self.kind == "expressions.OuterReference":
            return frozenset()
        found = frozenset({self.attribute} - {0})
        return found.union(*(expression.references() for expression in self.inner))


@dataclass(frozen=True)
class Plan:
    kind: str
    inner: tuple["Plan", ...]
    expressions: tuple[Expression, ...]
    java: Any
    start: int

    def everything(self) -> Iterator["Plan"]:
        """It, all below it, and all in the subqueries of expressions."""
        yield self
        for plan in self.inner:
            yield from plan.everything()
        for expression in self.every_expression():
            if expression.plan is not None:
                yield from expression.plan.everything()

    def every_expression(self) -> Iterator[Expression]:
        """Those of this plan alone."""
        for expression in self.expressions:
            yield from expression.everything()


def read_analyzed(plan: Any, spliced: SplicedQuery, text: str) -> Plan:
    """Raises RefusedQueryError at the first thing that is not allowed."""
    return _Reader(spliced, text).plan(plan, -1)


class _Reader:
    def __init__(self, spliced: SplicedQuery, text: str) -> None:
        self._spliced, self._text = spliced, text
        self._nodes = 0

    def plan(self, found: Any, outer: int) -> Plan:
        kind, start = self._kind(found), self._start(found, outer)
        if kind not in ANALYZED_PLANS:
            raise RefusedQueryError(refusal_reason(kind), self._text, start)
        if not found.deterministic():
            self._refuse_chance(found, start)
        return Plan(
            kind,
            tuple(self.plan(child, start) for child in _all(found.children())),
            tuple(
                self.expression(part, start, replaced=False)
                for part in _all(found.expressions())
            ),
            found,
            start,
        )

    def expression(self, found: Any, outer: int, *, replaced: bool) -> Expression:
        kind, start = self._kind(found), self._start(found, outer)
        if kind not in ANALYZED_EXPRESSIONS and not (replaced and kind in CALLS):
            raise RefusedQueryError(refusal_reason(kind), self._text, start)
        below = replaced or kind in REPLACED
        is_attribute = kind == "expressions.AttributeReference"
        return Expression(
            kind,
            tuple(
                self.expression(child, start, replaced=below)
                for child in _all(found.children())
            ),
            found,
            start,
            self.plan(found.plan(), start) if kind in ANALYZED_SUBQUERIES else None,
            _number(found) if is_attribute else 0,
        )

    def _kind(self, found: Any) -> str:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise RefusedQueryError(f"the query has more than {MAX_NODES:,} parts")
        return str(found.getClass().getName()).removeprefix(CATALYST)

    def _start(self, found: Any, outer: int) -> int:
        start = found.origin().startIndex()
        place = self._spliced.place(int(start.get())) if start.isDefined() else -1
        return place if 0 <= place <= len(self._text) else outer

    def _refuse_chance(self, found: Any, start: int) -> None:
        """`deterministic` of a plan also says so of what is below it."""
        for part in _all(found.expressions()):
            if not part.deterministic():
                raise RefusedQueryError(
                    "this gives another answer each time, which is not allowed",
                    self._text,
                    self._start(part, start),
                )


def _all(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(i) for i in range(sequence.size()))


@dataclass
class _Region:
    """What is joined, and the conditions that hold between."""

    leaves: list[Plan] = field(default_factory=list)
    joins: list[Plan] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)


def check_joins(plan: Plan, text: str, datasets: Mapping[str, Dataset]) -> None:
    """Raises RefusedQueryError at a join that relates nothing and has no LIMIT."""
    _check_region(plan, text, datasets, limited=False)


def _check_region(
    plan: Plan, text: str, datasets: Mapping[str, Dataset], *, limited: bool
) -> None:
    region = _Region()
    _gather(plan, region)
    if region.joins and not limited and not _hangs_together(region, datasets):
        start = next((j.start for j in region.joins if j.start >= 0), plan.start)
        raise RefusedQueryError(
            "nothing relates what is joined here: every row would meet every row; add "
            f"a condition, or a LIMIT of at most {MAX_LIMIT:,} over it",
            text,
            start,
        )
    for part in _region_plans(plan):
        for expression in part.every_expression():
            if expression.plan is not None:
                _check_region(expression.plan, text, datasets, limited=False)
    if region.leaves == [plan]:
        below, limited = list(plan.inner), _limits(plan, limited=limited)
    else:
        below, limited = region.leaves, limited and not region.conditions
    for inner in below:
        _check_region(inner, text, datasets, limited=limited and not region.joins)


def _limits(plan: Plan, *, limited: bool) -> bool:
    """True if a LIMIT at or above this plan bounds what is below it."""
    if plan.kind == _LIMIT:
        number = plan.java.limitExpr().value()
        return limited or int(number) <= MAX_LIMIT
    return limited and plan.kind in _KEEPING


def _gather(plan: Plan, region: _Region) -> None:
    if plan.kind not in _REGION:
        region.leaves.append(plan)
        return
    if plan.kind == _JOIN:
        region.joins.append(plan)
    for expression in plan.expressions:
        region.conditions += _conjuncts(expression)
    for inner in plan.inner:
        _gather(inner, region)


def _region_plans(plan: Plan) -> Iterator[Plan]:
    """The plans of a region that have expressions of their own; its leaves not, but
    if the plan is no region at all."""
    yield plan
    if plan.kind in _REGION:
        for inner in plan.inner:
            if inner.kind in _REGION:
                yield from _region_plans(inner)


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if expression.kind == "expressions.And":
        for inner in expression.inner:
            yield from _conjuncts(inner)
    else:
        yield expression


def _hangs_together(region: _Region, datasets: Mapping[str, Dataset]) -> bool:
    outputs = [_output(leaf) for leaf in region.leaves]
    groups = [
        {i}
        for i, leaf in enumerate(region.leaves)
        if not _is_single(leaf, region.conditions, datasets)
    ]
    for condition in region.conditions:
        said = condition.references()
        touched = {i for i, output in enumerate(outputs) if said & output}
        joined = [group for group in groups if group & touched]
        if len(joined) > 1:
            groups = [group for group in groups if not group & touched]
            groups.append(set().union(*joined))
    return len(groups) <= 1


def _output(plan: Plan) -> frozenset[int]:
    return frozenset(_number(column) for column in _all(plan.java.output()))


def _number(column: Any) -> int:
    return int(column.exprId().id()) + 1


def _is_single(
    leaf: Plan, conditions: list[Expression], datasets: Mapping[str, Dataset]
) -> bool:
    """True if it has at most one row."""
    most = leaf.java.maxRows()
    if most.isDefined() and int(most.get()) <= 1:
        return True
    key = _key(leaf, datasets)
    return key != 0 and any(_fixes(condition, key) for condition in conditions)


def _key(leaf: Plan, datasets: Mapping[str, Dataset]) -> int:
    """The column of a keyed dataset that is its key, 0 for anything else."""
    if leaf.kind != _VIEW:
        return 0
    name = str(leaf.java.desc().identifier().table()).lower()
    dataset = next((d for d in datasets.values() if d.name.lower() == name), None)
    if dataset is None or dataset.kind is not DatasetKind.KEYED:
        return 0
    for column in _all(leaf.java.output()):
        if str(column.name()).lower() == dataset.key.lower():
            return _number(column)
    return 0


def _fixes(condition: Expression, key: int) -> bool:
    """True if it says that the key is one value."""
    if condition.kind != "expressions.EqualTo":
        return False
    left, right = condition.inner
    return (left.attribute == key and not right.references()) or (
        right.attribute == key and not left.references()
    )


def check_conversions(spark: "SparkSession", plan: Plan, text: str) -> None:
    # PySpark does not show whether a cast is the author's own.
    cast: Any = spark._jvm  # noqa: SLF001
    tag = cast.org.apache.spark.sql.catalyst.expressions.Cast.USER_SPECIFIED_CAST()
    for part in plan.everything():
        for expression in part.expressions:
            _check_conversion(expression, text, tag)


def _check_conversion(expression: Expression, text: str, tag: Any) -> None:
    if expression.kind in _READING:
        return
    if expression.kind == "expressions.Cast" and _surprises(expression.java, tag):
        wanted = str(expression.java.dataType().simpleString())
        raise RefusedQueryError(
            f"{_shown_text(expression.java.child())} is a text, expected {wanted}: "
            "declare it as such, or write CAST",
            text,
            expression.start,
        )
    if expression.kind == "expressions.ScalarSubquery" and not _has_one_row(expression):
        raise RefusedQueryError(
            "a subquery that stands for a value must have one row: use an aggregate, "
            "or LIMIT 1",
            text,
            expression.start,
        )
    for inner in expression.inner:
        _check_conversion(inner, text, tag)


def _shown_text(found: Any) -> str:
    sql = str(found.sql())
    parameter = PARAMETER.search(sql)
    return f":{parameter[1]}" if parameter else sql.replace("`", "")[:80]


def _surprises(cast: Any, tag: Any) -> bool:
    """True if Spark put it in, and it makes NULL of some texts."""
    if cast.getTagValue(tag).isDefined():
        return False
    source, target = cast.child().dataType(), cast.dataType()
    if source.simpleString() != "string" or target.simpleString() == "string":
        return False
    return not cast.child().foldable() or cast.eval(None) is None


def _has_one_row(subquery: Expression) -> bool:
    """Spark sees to it itself if the subquery depends on the row around it."""
    assert subquery.plan is not None
    most = subquery.plan.java.maxRows()
    is_one = bool(most.isDefined()) and int(most.get()) <= 1
    return is_one or subquery.java.outerAttrs().size() > 0


def result_columns(plan: Plan) -> tuple[ColumnInfo, ...]:
    """Names and types of the columns of the channel's own query, which is within
    `plan`. Raises RefusedQueryError if they cannot be an object in JSON."""
    schema = _channel_query(plan).java.schema()
    columns = [
        ColumnInfo(str(column.name()), str(column.dataType().catalogString()))
        for column in _all(schema)
    ]
    _check_columns(columns, json.loads(schema.json())["fields"])
    return tuple(columns)


def _channel_query(plan: Plan) -> Plan:
    found: list[Expression] = [
        expression
        for part in plan.everything()
        for expression in part.expressions
        if expression.kind == "expressions.LateralSubquery"
    ]
    (subquery,) = found  # ours: those of users are refused
    assert subquery.plan is not None
    return subquery.plan


def _check_columns(columns: list[ColumnInfo], fields: list[dict[str, Any]]) -> None:
    if not columns:
        raise RefusedQueryError("the results have no columns")
    names = [column.name.lower() for column in columns]
    for column, schema in zip(columns, fields, strict=True):
        if names.count(column.name.lower()) > 1:
            raise RefusedQueryError(
                f"the results have two columns {column.name!r}: give one another name"
            )
        if not _is_json(schema["type"]):
            hint = "CAST it" if column.type == "void" else "CAST it to another type"
            raise RefusedQueryError(
                f"the column {column.name!r} of the results is of type {column.type}, "
                f"which JSON does not have: {hint}"
            )


def _is_json(type_: Any) -> bool:
    if isinstance(type_, str):
        return bool(_PLAIN.fullmatch(type_))
    if type_["type"] == "array":
        return _is_json(type_["elementType"])
    return type_["type"] == "struct" and all(
        _is_json(field["type"]) for field in type_["fields"]
    )
