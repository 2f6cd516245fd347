"""What is found, without what differs from run to run."""

import re
from typing import Any

Json = Any

# Values of these are not the same twice, wherever they are.
UNSTEADY = {
    "at",
    "begun",
    "bytes",
    "created",
    "digest",
    "ended",
    "epoch",
    "instance",
    "last_fed",
    "load",
    "load_after",
    "load_per_second",
    "max_load",
    "mean_load",
    "measured",
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "pid",
    "received_per_second",
    "delivered_per_second",
    "renewed",
    "seconds",
    "since",
    "spark_cpu_seconds",
    "started",
    "token",
}


# Counts that a broker reports now and then, in what is said of it beside them.
REPORTED = {"delivered", "received", "sessions", "topics"}
# Null for as long as there is nothing to say, which is a matter of time.
NULLABLE = {
    "last_fed": "number",
    "last_move": "number",
    "last_run": "number",
    "p50_ms": "number",
    "p90_ms": "number",
    "results": "integer",
    "took_ms": "number",
}
_ADDRESS = re.compile(r"(ws|http)://127\.0\.0\.1:\d+")


def steady(value: Json, unsteady: bool = False) -> Json:
    """The same, with the type of a value instead of it where it differs each time."""
    if isinstance(value, dict):
        names = UNSTEADY | (REPORTED if "since" in value else set())
        return {name: steady(each, name in names) for name, each in value.items()}
    if isinstance(value, list):
        return [steady(each, unsteady or _is_measured(value)) for each in value]
    if isinstance(value, str) and _ADDRESS.match(value):
        return "<address>"
    if unsteady and value not in ("", None) and not isinstance(value, bool):
        return f"<{type_name(value)}>"
    return value


def _is_measured(row: list[Json]) -> bool:
    """True of rows such as [topic, rate, weight]."""
    return {type(each) for each in row} == {str, float}


def shape(value: Json) -> Json:
    """Keys and types. Of a list, what its elements are; keys that only some of them
    have end with `?`."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_merged([shape(each) for each in value])] if value else []
    return type_name(value)


def merged_shape(values: list[Json]) -> Json:
    """That of all of them together."""
    return _merged([shape(each) for each in values])


def type_name(value: Json) -> str:
    names = {dict: "object", list: "list", str: "text", bool: "boolean"}
    numbers = {int: "integer", float: "number", type(None): "null"}
    return {**names, **numbers}[type(value)]


def _merged(shapes: list[Json]) -> Json:
    first, *rest = shapes
    if all(isinstance(each, dict) for each in shapes):
        names = sorted({name for each in shapes for name in each})
        return {
            name if all(name in each for each in shapes) else f"{name}?": _merged(
                [each[name] for each in shapes if name in each]
            )
            for name in names
        }
    if all(isinstance(each, list) for each in shapes):
        inner = [element for each in shapes for element in each]
        return [_merged(inner)] if inner else []
    if all(each == first for each in rest):
        return first
    if all(isinstance(each, str) for each in shapes):
        either = {name for each in shapes for name in each.split(" or ")}
        return " or ".join(sorted(either))
    filled = [each for each in shapes if each != "null"]
    return {"null or": _merged(filled)} if len(filled) < len(shapes) else shapes


def nullable(found: Json) -> Json:
    """A shape in which what may be null says so."""
    if isinstance(found, list):
        return [nullable(each) for each in found]
    if not isinstance(found, dict):
        return found
    shown = {name: nullable(each) for name, each in found.items()}
    for name in shown.keys() & NULLABLE.keys():
        if {*str(shown[name]).split(" or ")} <= {"null", NULLABLE[name]}:
            shown[name] = f"null or {NULLABLE[name]}"
    return shown


def series(text: str) -> dict[str, str]:
    """Names and types of metrics, as Prometheus reads them."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
