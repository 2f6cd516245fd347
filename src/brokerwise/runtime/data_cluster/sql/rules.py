"""What a channel's query may say, beyond the parts that it may have. Pure.

Decided here: which names, functions, arguments and patterns are refused, and where a
parameter may be (`check_rules`); and which datasets a query reads, and how large it
becomes (`find_sources`).

A name in FROM is one that WITH defines before it, or a dataset; nothing else. What WITH
defines is put in wherever it is named, and * stands for all columns, so that a short
text can become a huge query: its size, its columns and how often one value goes into
another are bounded before Spark sees more of it than the parser does.

Java matches patterns by trying: a repeated group that repeats within, or many
repetitions after one another, can take longer than anyone waits, on a text chosen for
it, and a match cannot be interrupted. So only simple patterns are allowed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from brokerwise.runtime.data_cluster.sql.allowed import (
    ARGUMENTS,
    FAILING,
    FUNCTIONS,
    PLANS,
    SORTING,
    SUBQUERIES,
    UNORDERED,
    Rule,
)
from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError
from brokerwise.runtime.data_cluster.sql.tree import Node, Value, nodes_of, strings_of
from brokerwise.runtime.protocol.data import NAME, NAME_RULE, Dataset

MAX_SHORT = 256  # characters of a text in quotes that is put into others
_RANGES = {
    Rule.SMALL: (0, 1_000),
    Rule.PLACE: (1, 1_000),
    Rule.SCALE: (-100, 100),
}
# Where a name is made or said: the field of the kind that has it.
_NAMES = {
    "expressions.Alias": "name",
    "AliasIdentifier": "name",
    "analysis.UnresolvedSubqueryColumnAliases": "outputColumnNames",
    "analysis.UnresolvedAttribute": "nameParts",
    "analysis.UnresolvedStar": "target",
    "analysis.UnresolvedStarExceptOrReplace": "target",
    "analysis.UnresolvedInlineTable": "names",
    "analysis.UnresolvedRelation": "multipartIdentifier",
    "expressions.UnresolvedNamedLambdaVariable": "nameParts",
    "plans.logical.LocalRelation": "names",
    "plans.UsingJoin": "usingColumns",
}
_UNNAMED = "__auto_generated_subquery_name"  # Spark's, of (SELECT ...) without a name
# Spark takes them for names where something is missing: SELECT id FROM
_CLAUSES = """select from where group order having limit offset join on union values
    with and or not by as"""
_WORDS = frozenset(_CLAUSES.split())
_MADE = ("expressions.Alias", "AliasIdentifier")
_WHOLE = ("IntegerType", "LongType")
_STARS = ("analysis.UnresolvedStar", "analysis.UnresolvedStarExceptOrReplace")
_LISTS = {
    "plans.logical.Project": "projectList",
    "plans.logical.Aggregate": "aggregateExpressions",
}
_LIKES = ("expressions.Like", "expressions.ILike")
_MANY_LIKES = tuple(
    f"expressions.{name}" for name in ("LikeAll", "LikeAny", "NotLikeAll", "NotLikeAny")
)
_LIMITS = ("plans.logical.GlobalLimit", "plans.logical.LocalLimit")
_PASSING = (
    *_LIMITS,
    "plans.logical.LimitAll",
    "plans.logical.Offset",
    "plans.logical.Sort",
    "plans.logical.Distinct",
    "plans.logical.SubqueryAlias",
    "plans.logical.UnresolvedWith",
    "analysis.UnresolvedHaving",
)
_SETS = ("plans.logical.Except", "plans.logical.Intersect", "plans.logical.Union")
MAX_LENGTH = 256
MAX_REPEATS = 3
MAX_PERCENTS = 3
_REPEATS = "*+?{"
MAX_SIZE = 5_000  # parts, with what WITH defines put in
MAX_WIDTH = 1_000  # columns at any point
MAX_WEIGHT = 10_000  # values that go into one
_REFERENCES = (
    "analysis.UnresolvedAttribute",
    "analysis.NamedParameter",
    "expressions.UnresolvedNamedLambdaVariable",
    "expressions.Literal",
)


def check_rules(query: Node, text: str) -> None:
    """Raises RefusedQueryError at the first place that breaks a rule."""
    try:
        for node, parent in _with_parents(query, query):
            _check_names(node)
            _check_details(node, parent)
            _check_function(node, parent)
            _check_patterns(node)
        _check_output(query)
        _check_parameters(query, "")
    except _BrokenError as broken:
        place = broken.node if broken.node.start >= 0 else query
        raise RefusedQueryError(broken.reason, text, place.start) from None


class _BrokenError(Exception):
    def __init__(self, node: Node, reason: str) -> None:
        self.node, self.reason = node, reason


def _with_parents(node: Node, parent: Node) -> Iterator[tuple[Node, Node]]:
    yield node, parent
    for inner in node.inner():
        yield from _with_parents(inner, node)


def _check_names(node: Node) -> None:
    field = _NAMES.get(node.kind)
    if field is None:
        return
    for name in _texts(node[field]):
        if node.kind in _MADE and name.lower() in _WORDS:
            raise _BrokenError(
                node, f"found {name} as a name: is something missing, or too much?"
            )
        if name.startswith("_") and name != _UNNAMED:
            raise _BrokenError(
                node, f"found the name {name!r}: names that start with _ are ours"
            )
        # A backslash or a quote in a name only serves an attack.
        if (
            node.kind != "analysis.UnresolvedRelation"
            and name != _UNNAMED
            and not NAME.fullmatch(name)
        ):
            raise _BrokenError(
                node, f"found the name {name[:80]!r}, expected {NAME_RULE}"
            )


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)


def _check_details(node: Node, parent: Node) -> None:
    if node.kind == "analysis.UnresolvedRelation" and node["options"]:
        raise _BrokenError(node, "a dataset takes no options")
    if node.kind in _STARS and parent.kind not in _LISTS:
        raise _BrokenError(node, "* stands for columns of SELECT only: name them here")
    if node.kind in _STARS and any(nodes_of(node.fields.get("replacements"))):
        raise _BrokenError(node, "REPLACE is not allowed: name the columns")
    if node.kind == "plans.logical.UnresolvedWith" and node["allowRecursion"]:
        raise _BrokenError(node, "WITH RECURSIVE is not allowed")
    if node.kind in _LIMITS and not _is_count(node.child("limitExpr")):
        raise _BrokenError(node.child("limitExpr"), "LIMIT takes a number")
    if node.kind == "plans.logical.Offset" and not _is_count(node.child("offsetExpr")):
        raise _BrokenError(node.child("offsetExpr"), "OFFSET takes a number")


def _check_function(node: Node, parent: Node) -> None:
    if node.kind != "analysis.UnresolvedFunction":
        return
    parts = strings_of(node["nameParts"])
    name = parts[-1].lower()
    if len(parts) != 1 or name not in FUNCTIONS or node["isInternal"]:
        shown = ".".join(parts)[:80]
        raise _BrokenError(node, f"the function {shown} is not allowed in a channel")
    if name in UNORDERED and not _is_call_of(parent, SORTING):
        raise _BrokenError(
            node, f"{name} has no order of its own: write sort_array({name}(...))"
        )
    if node["ignoreNulls"] or node["orderingWithinGroup"]:
        raise _BrokenError(
            node, f"{name}: neither IGNORE NULLS nor WITHIN GROUP is allowed"
        )
    arguments = tuple(nodes_of(node["arguments"]))
    for position, rule in ARGUMENTS.get(name, {}).items():
        if position < len(arguments) and not _obeys(arguments[position], rule):
            raise _BrokenError(
                arguments[position],
                f"argument {position + 1} of {name} must be {rule.value}",
            )


def _is_call_of(node: Node, functions: frozenset[str]) -> bool:
    return (
        node.kind == "analysis.UnresolvedFunction"
        and strings_of(node["nameParts"])[-1].lower() in functions
    )


def _obeys(argument: Node, rule: Rule) -> bool:
    if rule in _RANGES:
        number, (least, most) = _whole_number(argument), _RANGES[rule]
        return number is not None and least <= number <= most
    if rule is Rule.SHORT and argument.kind == "analysis.NamedParameter":
        return True
    text = _quoted(argument)
    if text is None or len(text) > MAX_SHORT:
        return False
    if rule is Rule.LIKE:
        return is_simple_like(text)
    return rule is not Rule.PATTERN or is_simple_pattern(text)


def _check_patterns(node: Node) -> None:
    """LIKE and RLIKE as operators."""
    if node.kind in _LIKES and not _obeys(node.child("right"), Rule.LIKE):
        raise _BrokenError(node, f"LIKE takes {Rule.LIKE.value}")
    if node.kind == "expressions.RLike" and not _obeys(
        node.child("right"), Rule.PATTERN
    ):
        raise _BrokenError(node, f"RLIKE takes {Rule.PATTERN.value}")
    if node.kind in _MANY_LIKES and not all(
        is_simple_like(pattern) for pattern in _texts(node["patterns"])
    ):
        raise _BrokenError(node, f"LIKE takes {Rule.LIKE.value}")


def _check_output(query: Node) -> None:
    """Results have names that the query says, not some that Spark makes up."""
    while query.kind not in _LISTS:
        if query.kind in _PASSING:
            query = query.child()
        elif query.kind in _SETS:
            query = next(query.inner())
        else:
            return
    for column in nodes_of(query[_LISTS[query.kind]]):
        if column.kind == "analysis.UnresolvedAlias":
            raise _BrokenError(
                column.child(), "this column needs a name in the results: AS ..."
            )


def _check_parameters(node: Node, reason: str) -> None:
    """`reason` says why there can be no parameter here, if there can be none. Spark
    would refuse most of these later; some it gets wrong."""
    if node.kind == "analysis.NamedParameter" and reason:
        raise _BrokenError(node, f"a parameter cannot be used {reason}")
    if node.kind in SUBQUERIES:
        reason = "in a subquery of an expression: use it in a join instead"
    elif node.kind in _SETS[:2]:
        reason = "within EXCEPT or INTERSECT: use it in WHERE around them"
    elif _is_call_of(node, FAILING) or node.kind == "expressions.TimestampAdd":
        reason = "here: some values would make the query fail, for everybody"
    elif _is_full_join(node):
        reason = "within FULL JOIN: use it in WHERE after it"
    for inner in node.inner():
        _check_parameters(inner, reason)


def _is_full_join(node: Node) -> bool:
    return node.kind == "plans.logical.Join" and "FullOuter" in repr(node["joinType"])


def _whole_number(node: Node) -> int | None:
    if node.kind == "expressions.UnaryMinus":
        number = _whole_number(node.child())
        return None if number is None else -number
    if node.kind != "expressions.Literal" or node["dataType"] not in _WHOLE:
        return None
    value = node["value"]
    return value if isinstance(value, int) else None


def _is_count(node: Node) -> bool:
    number = _whole_number(node)
    return number is not None and number >= 0


def _quoted(node: Node) -> str | None:
    value = node["value"] if node.kind == "expressions.Literal" else None
    return (
        value if isinstance(value, str) and node["dataType"] == "StringType" else None
    )


def is_simple_like(pattern: str) -> bool:
    return len(pattern) <= MAX_LENGTH and pattern.count("%") <= MAX_PERCENTS


def is_simple_pattern(pattern: str) -> bool:
    """True if at most MAX_REPEATS characters or classes repeat, and no group does, nor
    a part of it refers to another or looks around."""
    if len(pattern) > MAX_LENGTH:
        return False
    repeats, before, i = 0, "", 0
    while i < len(pattern):
        char = pattern[i]
        if char == "\\":
            after = pattern[i + 1 : i + 2]
            # \1, \k<name>, \Q..\E: what follows is not what it looks like.
            if after == "" or after in "0123456789kQE":
                return False
            i += 1
        elif char == "[":
            end = _end_of_class(pattern, i)
            if end < 0:
                return False
            i = end
        elif char in _REPEATS:
            if before in ("", "(", ")", "|") or before in _REPEATS:
                return False
            repeats += 1
            if char == "{":
                i = pattern.find("}", i)
                if i < 0:
                    return False
        before, i = char, i + 1
    return repeats <= MAX_REPEATS


def _end_of_class(pattern: str, start: int) -> int:
    """Where the ] of a class is; -1 without one, or if there is a class within."""
    i = start + 1
    while i < len(pattern):
        if pattern[i] == "\\":
            i += 1
        elif pattern[i] == "[":
            return -1
        elif pattern[i] == "]" and i > start + 1 and pattern[start + 1 : i] != "^":
            return i
        i += 1
    return -1


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
