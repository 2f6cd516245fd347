"""What the results of a query look like."""

import json
import re
from typing import Any

from brokerwise.runtime.data_cluster.sql.analyzed import Expression, Plan
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError

_PLAIN = re.compile(
    r"string|long|integer|short|byte|double|float|boolean|date|timestamp"
    r"|timestamp_ntz|decimal\(\d+,-?\d+\)"
)


def result_columns(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Names and types of the columns of the channel's own query, which is within
    `plan`. Raises RefusedQueryError if they cannot be an object in JSON."""
    schema = _query(plan).java.schema()
    columns = []
    for i in range(schema.size()):
        column = schema.apply(i)
        columns.append((str(column.name()), str(column.dataType().catalogString())))
    _check(columns, json.loads(schema.json())["fields"])
    return tuple(columns)


def _query(plan: Plan) -> Plan:
    found: list[Expression] = [
        expression
        for part in plan.everything()
        for expression in part.expressions
        if expression.kind == "expressions.LateralSubquery"
    ]
    (subquery,) = found  # ours: those of users are refused
    assert subquery.plan is not None
    return subquery.plan


def _check(columns: list[tuple[str, str]], fields: list[dict[str, Any]]) -> None:
    if not columns:
        raise RefusedQueryError("the results have no columns")
    names = [name.lower() for name, _ in columns]
    for (name, kind), field in zip(columns, fields, strict=True):
        if names.count(name.lower()) > 1:
            raise RefusedQueryError(
                f"the results have two columns {name!r}: give one another name"
            )
        if not _is_json(field["type"]):
            hint = "CAST it" if kind == "void" else "CAST it to another type"
            raise RefusedQueryError(
                f"the column {name!r} of the results is of type {kind}, which JSON "
                f"does not have: {hint}"
            )


def _is_json(type_: Any) -> bool:
    if isinstance(type_, str):
        return bool(_PLAIN.fullmatch(type_))
    if type_["type"] == "array":
        return _is_json(type_["elementType"])
    return type_["type"] == "struct" and all(
        _is_json(field["type"]) for field in type_["fields"]
    )
