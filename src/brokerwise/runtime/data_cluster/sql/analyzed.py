"""Reads what Spark's analysis made of a query into plain Python values, and refuses
what analyzed_nodes.py does not name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from brokerwise.runtime.data_cluster.sql.analyzed_nodes import (
    CALLS,
    EXPRESSIONS,
    PLANS,
    REPLACED,
    SUBQUERIES,
)
from brokerwise.runtime.data_cluster.sql.nodes import described
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError
from brokerwise.runtime.data_cluster.sql.splicing import Spliced

_CATALYST = "org.apache.spark.sql.catalyst."
MAX_NODES = 20_000


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
        """The columns in it; those from outside, the parameters, are none of them."""
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


def read_analyzed(plan: Any, spliced: Spliced, text: str) -> Plan:
    """Raises RefusedQueryError at the first thing that is not allowed."""
    return _Reader(spliced, text).plan(plan, -1)


class _Reader:
    def __init__(self, spliced: Spliced, text: str) -> None:
        self._spliced, self._text = spliced, text
        self._nodes = 0

    def plan(self, found: Any, outer: int) -> Plan:
        kind, start = self._kind(found), self._start(found, outer)
        if kind not in PLANS:
            raise RefusedQueryError(described(kind), self._text, start)
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
        if kind not in EXPRESSIONS and not (replaced and kind in CALLS):
            raise RefusedQueryError(described(kind), self._text, start)
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
            self.plan(found.plan(), start) if kind in SUBQUERIES else None,
            int(found.exprId().id()) + 1 if is_attribute else 0,
        )

    def _kind(self, found: Any) -> str:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise RefusedQueryError(f"the query has more than {MAX_NODES:,} parts")
        return str(found.getClass().getName()).removeprefix(_CATALYST)

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
