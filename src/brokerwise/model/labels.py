"""Names and rates as callers have them: lists, dictionaries, numpy, pandas, Arrow."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import MAX_NAME_BYTES
from brokerwise.model.units import checked_count

Labels: TypeAlias = (
    Sequence[str] | Sequence[int] | npt.NDArray[Any] | pa.Array | pa.ChunkedArray
)
Rates: TypeAlias = (
    Mapping[str, int] | Mapping[int, int] | Sequence[int] | npt.NDArray[Any]
)

_ARROW = (pa.Array, pa.ChunkedArray)
_NAMEABLE = (
    types.is_integer,
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
)
_NOT_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError)


def as_names(labels: Labels, field: str) -> pa.Array:
    """Labels as text: text as it is, whole numbers in decimal, nothing else.

    A label of 1 and one of "1" are the same name, but a sequence holds one kind.
    """
    try:
        array = labels if isinstance(labels, _ARROW) else pa.array(labels)
        if not (_nameable(array.type) or len(array) == 0):
            raise pa.ArrowInvalid(f"found {array.type}")
        names = array.cast(pa.large_string())
    except _NOT_ARROW as cause:
        raise InputError(
            f"{field}: expected names, all text or all whole numbers: {cause}"
        ) from cause
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    lengths = pc.min_max(pc.binary_length(names)).as_py()
    if names.null_count or lengths["min"] == 0:
        raise InputError(f"{field}: found an empty name")
    if (lengths["max"] or 0) > MAX_NAME_BYTES:
        raise InputError(
            f"{field}: found a name of {lengths['max']:,} bytes, "
            f"expected at most {MAX_NAME_BYTES:,}"
        )
    return names


def topic_rates(rates: Rates) -> tuple[pa.Array, Int64s]:
    """Names and rates of topics, in the order given.

    A mapping (or a pandas Series) goes from topic to rate; anything else is an
    array indexed by topics that are the numbers from 0.
    """
    labels: Any
    values: Any
    if isinstance(rates, Mapping):
        labels, values = list(rates), list(rates.values())
    elif hasattr(rates, "keys"):
        labels, values = rates.keys(), np.asarray(rates)
    else:
        labels, values = np.arange(len(rates)), rates
    names = as_names(labels, "topics of rates")
    if pc.count_distinct(names).as_py() < len(names):
        raise InputError("rates: found a topic twice")
    return names, _counts(values, names)


def _counts(values: Any, names: pa.Array) -> Int64s:
    try:
        array = values if isinstance(values, _ARROW) else pa.array(values)
        if types.is_integer(array.type) and not array.null_count:
            counts: Int64s = np.asarray(array.cast(pa.int64()))
            if counts.min(initial=0) >= 0:
                return counts
    except _NOT_ARROW:
        pass
    # Something is wrong with one of them: only now is it worth looking one by one.
    checked = [
        checked_count(
            value.as_py() if isinstance(value, pa.Scalar) else value,
            f"rate of topic {name.as_py()!r}",
        )
        for name, value in zip(names, values, strict=True)
    ]
    return np.array(checked, np.int64)


def _nameable(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(accepts(kind) for accepts in _NAMEABLE)
