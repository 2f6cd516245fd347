"""What an API says of itself: an OpenAPI description, made of its endpoints' types, and
a page made of that.

The page is one static HTML file. It loads nothing from anywhere, and needs no
JavaScript.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import msgspec

from brokerwise.runtime.net.api import ANYONE, Endpoint, Html, HttpService
from brokerwise.runtime.protocol.fields import ErrorAnswer
from brokerwise.runtime.protocol.limits import VERSION
from brokerwise.runtime.protocol.tokens import Keys

_MEANINGS = {
    200: "Done.",
    401: "No valid token.",
    403: "The token is for somebody else.",
    404: "There is no such thing.",
    408: "The body did not come in time.",
    409: "Not possible in the state that the fleet is in.",
    413: "The body is too long.",
    422: "The request is not as described here.",
    503: "Not now: ask again in a moment.",
}
_ALWAYS = (401, 403, 408, 413, 422, 503)
_JSON = "application/json"
_TEMPLATE = "#/components/schemas/{name}"
# Bounds are for those who ask: an answer is described by its types alone, unless the
# same type is asked for too. A schema of an enumeration has no `type`, and stays.
_BOUNDS = frozenset(
    {
        *("minLength", "maxLength", "pattern", "enum"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
)
_LIST_BOUNDS = frozenset({"minItems", "maxItems"})


@dataclass(frozen=True)
class About:
    title: str
    description: str


def described_service(
    about: About, endpoints: Iterable[Endpoint], keys: Keys
) -> HttpService:
    """A service that describes itself in /openapi.json and /docs, when it is first
    asked to."""
    shown = tuple(endpoints)

    @cache
    def described() -> dict[str, Any]:
        return description(about, shown)

    async def openapi() -> dict[str, Any]:
        return described()

    async def docs() -> Html:
        return docs_page(described())

    own = [
        Endpoint("GET", path, frozenset(), call, shown=False)
        for path, call in (("/openapi.json", openapi), ("/docs", docs))
    ]
    return HttpService([*shown, *own], keys)


def description(about: About, endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """In the form of OpenAPI 3.1."""
    endpoints = [endpoint for endpoint in endpoints if endpoint.shown]
    asked = _Schemas([e.body for e in endpoints if _is_json(e.body)])
    texts = [text.type for e in endpoints for text in e.texts]
    parameters = _Schemas(texts)
    answers = [e.answer for e in endpoints if e.media_type == _JSON]
    answered = _Schemas([ErrorAnswer, *answers], bounded=False)
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        operation = _described(endpoint, asked, parameters, answered)
        paths.setdefault(endpoint.shown_path, {})[endpoint.method.lower()] = operation
    bearer = {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of a fleet's role.",
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about.title,
            "version": str(VERSION),
            "description": about.description,
        },
        "paths": paths,
        "components": {
            "schemas": answered.components | parameters.components | asked.components,
            "securitySchemes": {"token": bearer},
        },
    }


class _Schemas:
    """The schemas of types: `of` one of them, which refers to `components`."""

    def __init__(self, types: Sequence[Any], *, bounded: bool = True) -> None:
        found, self.components = msgspec.json.schema_components(
            types, ref_template=_TEMPLATE
        )
        if not bounded:
            found = tuple(map(_unbounded, found))
            self.components = {n: _unbounded(s) for n, s in self.components.items()}
        self._found = list(zip(types, found, strict=True))

    def of(self, kind: Any) -> dict[str, Any]:
        return next(dict(schema) for each, schema in self._found if each == kind)


def _unbounded(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_unbounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = _BOUNDS if isinstance(schema.get("type"), str) else frozenset[str]()
    if "prefixItems" not in schema:
        dropped |= _LIST_BOUNDS
    return {
        key: {name: _unbounded(each) for name, each in value.items()}
        if key == "properties"
        else _unbounded(value)
        for key, value in schema.items()
        if key not in dropped
    }


def _is_json(body: Any) -> bool:
    return body not in (None, bytes)


def _described(
    endpoint: Endpoint, asked: _Schemas, parameters: _Schemas, answered: _Schemas
) -> dict[str, Any]:
    text = {"type": "string"}
    is_json = endpoint.media_type == _JSON
    answer = answered.of(endpoint.answer) if is_json else text
    refusals = sorted({*_ALWAYS, *endpoint.refusals}) if endpoint.roles else []
    found: dict[str, Any] = {
        "operationId": endpoint.call.__name__,
        "description": _in_one_line(endpoint.call.__doc__),
        "tags": [_whom(endpoint)],
        "responses": {
            "200": _response(200, endpoint.media_type, answer),
            **{str(s): _response(s, _JSON, answered.of(ErrorAnswer)) for s in refusals},
        },
    }
    if endpoint.roles:
        found["security"] = [{"token": []}]
    if endpoint.texts:
        found["parameters"] = [
            {
                "name": each.name,
                "in": each.place,
                "required": each.is_required,
                "schema": parameters.of(each.type)
                | ({} if each.is_required else {"default": each.default}),
            }
            for each in endpoint.texts
        ]
    if _is_json(endpoint.body):
        content = {_JSON: {"schema": asked.of(endpoint.body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _response(status: int, media_type: str, schema: Any) -> dict[str, Any]:
    content = {media_type: {"schema": schema}}
    return {"description": _MEANINGS[status], "content": content}


def _whom(endpoint: Endpoint) -> str:
    if not endpoint.roles:
        return "anybody"
    if endpoint.roles == ANYONE:
        return "anyone with a token"
    return " or ".join(sorted(endpoint.roles))


def _in_one_line(text: str | None) -> str:
    return " ".join((text or "").split())


# The page

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --muted: #777; }
body { margin: 0 auto; padding: 1rem 2rem 3rem; max-width: 60rem;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h2 { margin-top: 2rem; padding-top: 1rem; border-top: 1px solid var(--line);
  font-size: 1.1rem; }
code, pre { font-family: ui-monospace, "Liberation Mono", monospace; }
pre { overflow-x: auto; padding: 0.5rem 0.75rem; border: 1px solid var(--line); }
table { border-collapse: collapse; }
td, th { padding: 0.15rem 1rem 0.15rem 0; text-align: left; vertical-align: top; }
.muted { color: var(--muted); }
nav a { display: inline-block; margin-right: 0.75rem; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"


def docs_page(description: Mapping[str, Any]) -> str:
    """The page of an OpenAPI description."""
    info = description["info"]
    schemas = description["components"]["schemas"]
    operations = list(_operations(description))
    links = "".join(
        f'<a href="#{_anchor(m, p)}"><code>{m} {escape(p)}</code></a>'
        for m, p, _ in operations
    )
    parts = [_operation(m, p, o) for m, p, o in operations]
    types = [_schema(name, schema) for name, schema in sorted(schemas.items())]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(info['title'])}</title>\n<style>{_STYLE}</style>\n"
        f"</head>\n<body>\n<header><h1>{escape(info['title'])}</h1>\n"
        f"<p>{escape(info['description'])} Every call but <code>/health</code> needs "
        "<code>Authorization: Bearer TOKEN</code>. The same for programs: "
        f'<a href="/openapi.json">openapi.json</a>.</p>\n<nav>{links}</nav></header>\n'
        f"<main>\n{''.join(parts)}\n<h2>Bodies and answers</h2>\n{''.join(types)}\n"
        "</main>\n</body>\n</html>\n"
    )


def _operations(
    description: Mapping[str, Any],
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    rows = [
        f"<tr><th>{escape(status)}</th><td>{escape(answer['description'])}</td>"
        f"<td>{_content(answer.get('content', {}))}</td></tr>"
        for status, answer in operation["responses"].items()
    ]
    asked = f"<p>Body: {_content(body)}</p>\n" if body else ""
    return (
        f'<section>\n<h2 id="{_anchor(method, path)}"><code>{method} {escape(path)}'
        f"</code></h2>\n<p>{escape(operation.get('description', ''))}</p>\n"
        f'<p class="muted">For: {escape(", ".join(operation.get("tags", [])))}</p>\n'
        f"{asked}{_parameters(operation)}<table>{''.join(rows)}</table>\n</section>\n"
    )


def _parameters(operation: Mapping[str, Any]) -> str:
    found = operation.get("parameters", [])
    items = [
        f"<li><code>{escape(p['name'])}</code> ({escape(p['in'])}): "
        f"{_type(p['schema'])}</li>"
        for p in found
    ]
    return f"<ul>{''.join(items)}</ul>\n" if items else ""


def _content(content: Mapping[str, Any]) -> str:
    return " or ".join(
        _type(found.get("schema", {})) or f"<code>{escape(kind)}</code>"
        for kind, found in content.items()
    )


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        f"<tr><th><code>{escape(field)}</code></th><td>{_type(kind)}</td>"
        f'<td class="muted">{"" if field in required else "may be left out"}</td></tr>'
        for field, kind in schema.get("properties", {}).items()
    ]
    values = [f"<code>{escape(json.dumps(v))}</code>" for v in schema.get("enum", [])]
    return (
        f'<section>\n<h3 id="{escape(name)}">{escape(name)}</h3>\n'
        f"<p>{escape(schema.get('description', ''))} {', '.join(values)}</p>\n"
        f"<table>{''.join(rows)}</table>\n</section>\n"
    )


def _type(schema: Mapping[str, Any]) -> str:
    """A type in a few words, linked if it has a name."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[1])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if "prefixItems" in schema:
        return f"[{', '.join(_type(item) for item in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"name &rarr; {_type(schema['additionalProperties'])}"
    return escape(str(schema.get("type", "")))


def _anchor(method: str, path: str) -> str:
    return escape(f"{method}{path.replace('/', '-')}")
