"""That a query with its parameters put in is still the same, where it was put."""

from typing import Any

from brokerwise.runtime.data_cluster.sql.parsed import Node, Value, read_plan
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError
from brokerwise.runtime.data_cluster.sql.splicing import Spliced, column_of

_PARAMETER = "analysis.NamedParameter"
_COLUMN = "analysis.UnresolvedAttribute"
# A name within a function of list elements, x -> ...: it may be one of its own, but
# none of those starts with _.
_COLUMNS = (_COLUMN, "expressions.UnresolvedNamedLambdaVariable")
_SHAPE = ("Project", "LateralJoin", "SubqueryAlias", "UnresolvedRelation")


def check_wrapped(plan: Any, query: Node, spliced: Spliced, text: str) -> None:
    """Raises RefusedQueryError unless `plan`, what Spark parsed `spliced` into, is
    what we write around a query, and in it `query`, its parameters now columns."""
    join = plan.child()
    left, right = join.left(), join.right().plan()
    shape = tuple(str(p.getClass().getSimpleName()) for p in (plan, join, left))
    inner = str(left.child().getClass().getSimpleName())
    is_ours = (*shape, inner) == _SHAPE and right.alias() == "_r"
    if not is_ours or not _same(query, read_plan(right.child(), spliced.text)):
        raise RefusedQueryError(
            "with its parameters put in, the text reads as another query; parameters "
            "are values: :name alone",
            text,
            spliced.pieces[0][0] if spliced.pieces else query.start,
        )


def _same(before: Value, after: Value) -> bool:
    if isinstance(before, tuple) and isinstance(after, tuple):
        return len(before) == len(after) and all(
            _same(one, other) for one, other in zip(before, after, strict=True)
        )
    if not (isinstance(before, Node) and isinstance(after, Node)):
        return type(before) is type(after) and before == after
    if before.kind == "analysis.UnresolvedAlias" and after.kind == _COLUMN:
        return _same(before["child"], after)
    if before.kind == _PARAMETER:
        column = ("_s", column_of(str(before["name"])))
        return after.kind in _COLUMNS and after["nameParts"] == column
    return (
        before.kind == after.kind
        and before.fields.keys() == after.fields.keys()
        and all(_same(before[field], after[field]) for field in before.fields)
    )
