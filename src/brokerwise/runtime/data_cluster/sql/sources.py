"""The datasets that a query reads, and how large it becomes. Pure.

A name in FROM is one that WITH defines before it, or a dataset; nothing else. What WITH
defines is put in wherever it is named, and * stands for all columns, so that a short
text can become a huge query: its size, its columns and how often one value goes into
another are bounded before Spark sees more of it than the parser does.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from brokerwise.runtime.data_cluster.definitions import Dataset
from brokerwise.runtime.data_cluster.sql.nodes import PLANS
from brokerwise.runtime.data_cluster.sql.parsed import Node, nodes_of, strings_of
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError

MAX_SIZE = 5_000  # parts, with what WITH defines put in
MAX_WIDTH = 1_000  # columns at any point
MAX_WEIGHT = 10_000  # values that go into one
_LISTS = {
    "plans.logical.Project": "projectList",
    "plans.logical.Aggregate": "aggregateExpressions",
}
_STARS = ("analysis.UnresolvedStar", "analysis.UnresolvedStarExceptOrReplace")
_REFERENCES = (
    "analysis.UnresolvedAttribute",
    "analysis.NamedParameter",
    "expressions.UnresolvedNamedLambdaVariable",
    "expressions.Literal",
)


@dataclass(frozen=True)
class _Extent:
    """`size` parts; `width` columns come out; at most `weight` values of datasets go
    into one of them."""

    size: int
    width: int
    weight: int


def find_sources(
    query: Node, text: str, datasets: Mapping[str, Dataset]
) -> tuple[str, ...]:
    """The datasets that are read, in order of their names. Raises RefusedQueryError
    for any other name, and for a query that becomes too large."""
    reader = _Sources(text, datasets)
    reader.extent(query, {})
    return tuple(sorted(reader.found))


class _Sources:
    def __init__(self, text: str, datasets: Mapping[str, Dataset]) -> None:
        self._text = text
        self._datasets = {
            dataset.name.lower(): dataset for dataset in datasets.values()
        }
        self.found: set[str] = set()

    def extent(self, node: Node, scope: Mapping[str, _Extent]) -> _Extent:
        if node.kind == "analysis.UnresolvedRelation":
            found = self._relation(node, scope)
        elif node.kind == "plans.logical.UnresolvedWith":
            found = self._with(node, scope)
        else:
            found = self._other(node, scope)
        self._check(node, found)
        return found

    def _relation(self, node: Node, scope: Mapping[str, _Extent]) -> _Extent:
        parts = strings_of(node["multipartIdentifier"])
        name = parts[-1].lower()
        if len(parts) == 1 and name in scope:
            return scope[name]
        dataset = self._datasets.get(name)
        if len(parts) != 1 or dataset is None:
            shown = ".".join(parts)[:80]
            known = ", ".join(sorted(d.name for d in self._datasets.values()))
            raise RefusedQueryError(
                f"there is no dataset {shown!r}; there are: {known or 'none'}",
                self._text,
                node.start,
            )
        self.found.add(dataset.name)
        return _Extent(1, len(dataset.columns), 1)

    def _with(self, node: Node, scope: Mapping[str, _Extent]) -> _Extent:
        inner = dict(scope)
        relations = node["cteRelations"]
        assert isinstance(relations, tuple)
        for relation in relations:
            assert isinstance(relation, tuple)
            name, plan = str(relation[0]), next(nodes_of(relation))
            if name.lower() in inner or name.lower() in self._datasets:
                raise RefusedQueryError(
                    f"WITH defines {name[:80]!r}, but there is one already",
                    self._text,
                    plan.start,
                )
            inner[name.lower()] = self.extent(plan, inner)
        return self.extent(node.child(), inner)

    def _other(self, node: Node, scope: Mapping[str, _Extent]) -> _Extent:
        """Relations give columns; the queries in expressions only add to the size."""
        plans, size = [], 1
        for inner in node.inner():
            extent = self.extent(inner, scope)
            size += extent.size
            if inner.kind in PLANS:
                plans.append(extent)
        width = self._width(node, plans)
        weight = max((plan.weight for plan in plans), default=1)
        if node.kind in _LISTS:
            columns = tuple(nodes_of(node[_LISTS[node.kind]]))
            weight *= max((_weight(column) for column in columns), default=1)
        return _Extent(size, width, weight)

    def _width(self, node: Node, plans: list[_Extent]) -> int:
        below = sum(plan.width for plan in plans)
        if node.kind in _LISTS:
            columns = nodes_of(node[_LISTS[node.kind]])
            return sum(below if c.kind in _STARS else 1 for c in columns)
        if node.kind == "plans.logical.Join":
            return below
        if "names" in node.fields:
            return len(strings_of(node["names"]))
        return max((plan.width for plan in plans), default=0)

    def _check(self, node: Node, extent: _Extent) -> None:
        for what, found, most in (
            ("parts", extent.size, MAX_SIZE),
            ("columns", extent.width, MAX_WIDTH),
            ("values that go into one", extent.weight, MAX_WEIGHT),
        ):
            if found > most:
                raise RefusedQueryError(
                    f"with * and names put in, this has {found:,} {what}, expected at "
                    f"most {most:,}",
                    self._text,
                    node.start,
                )


def _weight(expression: Node) -> int:
    """How many values go into that of an expression, at most. A function of a list
    does its part for each value in it."""
    if expression.kind in _REFERENCES:
        return 1
    times, total = 1, 0
    for inner in expression.inner():
        if inner.kind == "expressions.LambdaFunction":
            times *= max(1, _weight(inner.child("function")))
        elif inner.kind not in PLANS:
            total += _weight(inner)
    return times * max(1, total)
