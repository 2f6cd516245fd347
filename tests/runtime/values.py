"""Any value of a dataclass, a body or a frame that JSON can carry, for hypothesis."""

import dataclasses
import enum
import types
from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from hypothesis import strategies as st

from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, MAX_SEQ

# JSON has neither infinity nor NaN, nor half a character.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20
) | st.sampled_from(["a" * MAX_NAME_BYTES, "é" * (MAX_NAME_BYTES // 2)])
numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(1, MAX_SEQ)  # also where 0 would do, so that all fields take it
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_SEQ, MAX_SEQ) | numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=8,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: names,
    int: counts,
    float: numbers,
    bool: st.booleans(),
    type(None): st.none(),
    Any: counts,
    msgspec.UnsetType: st.just(msgspec.UNSET),
    msgspec.Raw: json_values.map(lambda v: msgspec.Raw(msgspec.json.encode(v))),
}


def any_value(kind: Any) -> st.SearchStrategy[Any]:
    """A strategy for values of a type, by its annotation."""
    if get_origin(kind) is Annotated:
        return _bounded(*get_args(kind)[:2])
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(any_value, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(any_value(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(any_value, arguments))
    if origin in (dict, Mapping):
        return st.dictionaries(*map(any_value, arguments), max_size=3)
    if origin is list:
        return st.lists(any_value(arguments[0]), max_size=3)
    if origin is Literal:
        return st.sampled_from(arguments)
    return st.builds(kind, **{f: any_value(t) for f, t in fields_of(kind).items()})


def _bounded(kind: Any, meta: Any) -> st.SearchStrategy[Any]:
    """Values within the bounds that matter to what `any_value` would give."""
    described = getattr(meta, "extra_json_schema", None) or {}
    if "enum" in described or "examples" in described:
        return st.sampled_from(described.get("enum") or described["examples"])
    least, most = getattr(meta, "ge", None), getattr(meta, "le", None)
    if kind is float and least is not None:
        return st.floats(least, most, allow_nan=False, allow_infinity=False)
    if kind is int and most is not None:
        return st.integers(max(least or 0, 1), most)
    return any_value(kind)


def fields_of(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass or a frame, and their types."""
    hints = get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    return {name: hints[name] for name in kind.__struct_fields__}
