"""Reads what Spark's parser made of a text into plain Python values.

Everything in it is read, by the fields of Scala's case classes, and only what
allowed.py names: the first thing that it does not name is refused here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from py4j.protocol import Py4JError

from brokerwise.runtime.data_cluster.sql.allowed import (
    CATALYST,
    EXPRESSIONS,
    IDENTITIES,
    MARKS,
    PARTS,
    PLANS,
    refusal_reason,
)
from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError

MAX_NODES = 2_000  # of a query
MAX_DEPTH = 80  # of a query

Value: TypeAlias = "Node | tuple[Value, ...] | str | int | float | bool | None"
_TYPES = "org.apache.spark.sql.types."
_READ = PLANS | EXPRESSIONS | PARTS


@dataclass(frozen=True)
class Node:
    """A part of a query: a relation, an expression or a detail of one. `kind` is
    its class, without the package that all have; it comes from text[start:stop]."""

    kind: str
    fields: dict[str, Value]
    start: int = -1
    stop: int = -1

    def __getitem__(self, field: str) -> Value:
        return self.fields[field]

    def inner(self) -> Iterator["Node"]:
        """The nodes in its fields, in order."""
        for value in self.fields.values():
            yield from nodes_of(value)

    def everything(self) -> Iterator["Node"]:
        """It and all nodes in it."""
        yield self
        for node in self.inner():
            yield from node.everything()

    def child(self, field: str = "child") -> "Node":
        value = self.fields[field]
        assert isinstance(value, Node)
        return value


def nodes_of(value: Value) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from nodes_of(part)


def strings_of(value: Value) -> tuple[str, ...]:
    """A field that holds names."""
    return tuple(str(part) for part in value) if isinstance(value, tuple) else ()


def read_plan(plan: Any, text: str) -> Node:
    """What Spark parsed `text` into. Raises RefusedQueryError at the first thing that
    is not allowed, or that is too much. About a millisecond for ten nodes."""
    node = _Reader(text).value(plan, 0, (-1, -1))
    assert isinstance(node, Node)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._nodes = 0
        self._fields: dict[str, tuple[str, ...]] = {}

    def value(self, found: Any, depth: int, place: tuple[int, int]) -> Value:
        if found is None or isinstance(found, str | int | float):
            return found
        if isinstance(found, bytes | bytearray):
            return bytes(found).hex()
        name = str(found.getClass().getName())
        if name.startswith("scala."):
            return self._scala(found, name, depth, place)
        if name.startswith(_TYPES):
            # A type, or a decimal number.
            return str(found.toString())
        return self._node(found, name.removeprefix(CATALYST), depth, place)

    def _scala(
        self, found: Any, name: str, depth: int, place: tuple[int, int]
    ) -> Value:
        if name == "scala.None$":
            return None
        if name == "scala.Some":
            return self.value(found.get(), depth, place)
        if name == "scala.Enumeration$Val":
            return str(found.toString())
        if name.startswith("scala.Tuple"):
            size, part = found.productArity(), found.productElement
        elif _is_sequence(name):
            size, part = found.size(), found.apply
        else:
            raise self._refused(name, place)
        self._count(size, place)
        return tuple(self.value(part(i), depth, place) for i in range(size))

    def _node(self, found: Any, kind: str, depth: int, place: tuple[int, int]) -> Value:
        if kind in MARKS:
            return kind
        if kind in IDENTITIES:
            return None
        if kind.endswith("UTF8String") or kind.endswith("CalendarInterval"):
            return str(found.toString())
        if kind.endswith("CaseInsensitiveStringMap"):
            return int(found.size())
        if kind == "plans.logical.LocalRelation":
            return self._constants(found, place)
        # What there is only one of knows the place of its first use, in any query.
        if kind not in PARTS and not kind.endswith("$"):
            place = _place(found, place)
        if kind not in _READ:
            raise self._refused(kind, place)
        self._count(1, place)
        if depth >= MAX_DEPTH:
            raise RefusedQueryError(
                f"the query is nested more than {MAX_DEPTH} deep", self._text, place[0]
            )
        values = {
            field: self.value(found.productElement(i), depth + 1, place)
            for i, field in enumerate(self._names(found, kind))
        }
        return Node(kind, values, *place)

    def _constants(self, found: Any, place: tuple[int, int]) -> Node:
        """VALUES that are literals: the parser has made a table of them."""
        output = found.output()
        names = tuple(str(output.apply(i).name()) for i in range(output.size()))
        rows = str(found.data().toString())
        return Node(
            "plans.logical.LocalRelation", {"names": names, "rows": rows}, *place
        )

    def _names(self, found: Any, kind: str) -> tuple[str, ...]:
        if kind not in self._fields:
            self._fields[kind] = tuple(
                str(found.productElementName(i)) for i in range(found.productArity())
            )
        return self._fields[kind]

    def _count(self, nodes: int, place: tuple[int, int]) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise RefusedQueryError(
                f"the query has more than {MAX_NODES:,} parts", self._text, place[0]
            )

    def _refused(self, kind: str, place: tuple[int, int]) -> RefusedQueryError:
        return RefusedQueryError(refusal_reason(kind), self._text, place[0])


def _is_sequence(name: str) -> bool:
    return name in (
        "scala.collection.immutable.$colon$colon",
        "scala.collection.immutable.Nil$",
    ) or name.startswith(
        (
            "scala.collection.immutable.Vector",
            "scala.collection.immutable.ArraySeq",
            "scala.collection.mutable.ArrayBuffer",
            "scala.collection.mutable.ArraySeq",
            "scala.collection.mutable.ListBuffer",
        )
    )


def _place(found: Any, outer: tuple[int, int]) -> tuple[int, int]:
    """Where a part of the query comes from; what encloses it if that is not known."""
    try:
        origin = found.origin()
    except Py4JError:  # it is none of the kinds that have one
        return outer
    start, stop = origin.startIndex(), origin.stopIndex()
    if not (start.isDefined() and stop.isDefined()):
        return outer
    return int(start.get()), int(stop.get()) + 1
