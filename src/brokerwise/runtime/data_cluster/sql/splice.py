"""One query for all subscriptions: columns of the subscriptions are put where a
channel's query has its parameters.

Decided here: which parameters a query may have (the declared ones, all of them used),
and that the query with them put in is still the same (`check_wrapped`). Also the
sessions and empty views in which a query is analyzed: enough for that, nothing to run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brokerwise.runtime.data_cluster.records import spark_schema, spark_type
from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError
from brokerwise.runtime.data_cluster.sql.tree import Node, Value, read_plan
from brokerwise.runtime.protocol.data import Channel, Dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY_SETTINGS = {
    # What cannot be computed (a division by 0, a text that is no number) is NULL: one
    # record, or one subscriber's value, cannot end a run for all.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.runSQLOnFiles": "false",
    # ${env:NAME} in a text would be put in before it is parsed.
    "spark.sql.variable.substitute": "false",
    # Else each column of SELECT can double the one before it.
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "UTC",
}
SUBSCRIPTIONS = "_subscriptions"
SUBSCRIPTION = "_subscription"
_ALIAS = "_s"
_BEFORE = (
    f"SELECT {_ALIAS}.{SUBSCRIPTION} AS subscription, "
    "to_json(struct(_r.*), map('ignoreNullFields', 'false')) AS data "
    f"FROM {SUBSCRIPTIONS} {_ALIAS}, LATERAL (\n"
)
_AFTER = "\n) _r"  # the line break ends a comment
_PARAMETER = "analysis.NamedParameter"
_COLUMN = "analysis.UnresolvedAttribute"
# A name within a function of list elements, x -> ...: it may be one of its own, but
# none of those starts with _.
_COLUMNS = (_COLUMN, "expressions.UnresolvedNamedLambdaVariable")
_SHAPE = ("Project", "LateralJoin", "SubqueryAlias", "UnresolvedRelation")


def query_session(spark: "SparkSession") -> "SparkSession":
    """A session of its own, with its own views, on the same Spark."""
    session = spark.newSession()
    for name, value in QUERY_SETTINGS.items():
        session.conf.set(name, value)
    return session


@dataclass(frozen=True)
class SplicedQuery:
    """`pieces` are where text was replaced: from, to, and by how much longer."""

    text: str
    pieces: tuple[tuple[int, int, int], ...]

    def place(self, index: int) -> int:
        """Where in the channel's SQL a place of `text` comes from; -1 if it is not
        from there."""
        index -= len(_BEFORE)
        for start, stop, longer in self.pieces:
            if index >= stop + longer:
                index -= longer
            elif index >= start:
                return start
            else:
                break
        return index


def column_of(parameter: str) -> str:
    """The column of the subscriptions that has the values of a parameter."""
    return f"p_{parameter}"


def splice(query: Node, text: str, channel: Channel) -> SplicedQuery:
    """One query for all subscriptions. Raises RefusedQueryError for parameters that
    are not declared, or declared and not used."""
    declared = [column.name for column in channel.parameters]
    found = [n for n in query.everything() if n.kind == _PARAMETER]
    places = _places(found, text, declared)
    unused = sorted(set(declared) - {name for _, _, name in places})
    if unused:
        raise RefusedQueryError(f"the parameter :{unused[0]} is not used in the SQL")
    return _spliced(text, places)


def _places(
    found: Sequence[Node], text: str, declared: Sequence[str]
) -> list[tuple[int, int, str]]:
    places = set()
    for node in found:
        name = str(node["name"])
        if name not in declared:
            known = ", ".join(f":{name}" for name in declared)
            raise RefusedQueryError(
                f"the parameter :{name[:80]} is not declared; declared are: "
                f"{known or 'none'}",
                text,
                node.start,
            )
        if text[node.start : node.stop] != f":{name}":
            raise RefusedQueryError(
                f"expected the parameter as :{name}, without anything between",
                text,
                node.start,
            )
        places.add((node.start, node.stop, name))
    return sorted(places)


def _spliced(text: str, places: Sequence[tuple[int, int, str]]) -> SplicedQuery:
    parts, pieces, done = [_BEFORE], [], 0
    for start, stop, name in places:
        column = f"{_ALIAS}.{column_of(name)}"
        # A letter right before or after would become part of the name.
        parts += [text[done:start], f" {column} "]
        pieces.append((start, stop, len(column) + 2 - (stop - start)))
        done = stop
    return SplicedQuery("".join([*parts, text[done:], _AFTER]), tuple(pieces))


def check_wrapped(plan: Any, query: Node, spliced: SplicedQuery, text: str) -> None:
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
        column = (_ALIAS, column_of(str(before["name"])))
        return after.kind in _COLUMNS and after["nameParts"] == column
    return (
        before.kind == after.kind
        and before.fields.keys() == after.fields.keys()
        and all(_same(before[field], after[field]) for field in before.fields)
    )


def subscriptions_schema(channel: Channel) -> str:
    """Of `_subscriptions`, for this channel, as Spark's SQL spells it."""
    columns = [f"`{SUBSCRIPTION}` BIGINT"]
    columns += [
        f"`{column_of(p.name)}` {spark_type(p.type)}" for p in channel.parameters
    ]
    return ", ".join(columns)


def make_views(
    session: "SparkSession", datasets: Iterable[Dataset], channel: Channel
) -> None:
    for dataset in datasets:
        empty = session.createDataFrame([], spark_schema(dataset))
        empty.createOrReplaceTempView(dataset.name)
    empty = session.createDataFrame([], subscriptions_schema(channel))
    empty.createOrReplaceTempView(SUBSCRIPTIONS)
