"""Joins that relate what they join. Pure.

What is joined (JOIN, commas, WHERE above them) must hang together by conditions that
say something of two of them. Else every row of one meets every row of the other, which
only a LIMIT over it keeps in bounds. What has at most one row, such as a keyed dataset
of which one key is asked for, may stand beside anything.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from brokerwise.runtime.data_cluster.definitions import Dataset, DatasetKind
from brokerwise.runtime.data_cluster.sql.analyzed import Expression, Plan
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError

MAX_LIMIT = 10_000
_JOIN, _FILTER = "plans.logical.Join", "plans.logical.Filter"
_ALIAS, _LIMIT = "plans.logical.SubqueryAlias", "plans.logical.GlobalLimit"
_VIEW = "plans.logical.View"
_KEEPING = (
    "plans.logical.LocalLimit",
    "plans.logical.Project",
    "plans.logical.Sort",
)


@dataclass
class _Region:
    """What is joined, and the conditions that hold between."""

    leaves: list[Plan] = field(default_factory=list)
    joins: list[Plan] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)


def check_joins(plan: Plan, text: str, datasets: Mapping[str, Dataset]) -> None:
    """Raises RefusedQueryError at a join that relates nothing and has no LIMIT."""
    _check(plan, text, datasets, limited=False)


def _check(
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
                _check(expression.plan, text, datasets, limited=False)
    if region.leaves == [plan]:
        below, limited = list(plan.inner), _limits(plan, limited=limited)
    else:
        below, limited = region.leaves, limited and not region.conditions
    for inner in below:
        _check(inner, text, datasets, limited=limited and not region.joins)


def _limits(plan: Plan, *, limited: bool) -> bool:
    """Whether a LIMIT at or above this plan bounds what is below it."""
    if plan.kind == _LIMIT:
        number = plan.java.limitExpr().value()
        return limited or int(number) <= MAX_LIMIT
    return limited and plan.kind in _KEEPING


def _gather(plan: Plan, region: _Region) -> None:
    if plan.kind not in (_JOIN, _FILTER, _ALIAS):
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
    if plan.kind in (_JOIN, _FILTER, _ALIAS):
        for inner in plan.inner:
            if inner.kind in (_JOIN, _FILTER, _ALIAS):
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
    output = plan.java.output()
    return frozenset(
        int(output.apply(i).exprId().id()) + 1 for i in range(output.size())
    )


def _is_single(
    leaf: Plan, conditions: list[Expression], datasets: Mapping[str, Dataset]
) -> bool:
    """Whether it has at most one row."""
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
    output = leaf.java.output()
    for i in range(output.size()):
        if str(output.apply(i).name()).lower() == dataset.key.lower():
            return int(output.apply(i).exprId().id()) + 1
    return 0


def _fixes(condition: Expression, key: int) -> bool:
    """Whether it says that the key is one value."""
    if condition.kind != "expressions.EqualTo":
        return False
    left, right = condition.inner
    return (left.attribute == key and not right.references()) or (
        right.attribute == key and not left.references()
    )
