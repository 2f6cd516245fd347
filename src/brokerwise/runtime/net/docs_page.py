"""The API page: one static HTML file, made from the OpenAPI description.

It loads nothing from anywhere, and needs no JavaScript.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

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
