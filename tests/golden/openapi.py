"""An OpenAPI document reduced to what a client relies on.

Field names, types, what is required, bounds and defaults; not titles, descriptions,
names of schemas, or the way in which a framework says the same.
"""

from typing import Any

Document = dict[str, Any]
_BOUNDS = {
    "minLength": "at least {} long",
    "maxLength": "at most {} long",
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "pattern": "like {}",
}
_PROBLEM = {"error": "string"}
_NOT_GIVEN = "; if not given "


def calls(document: Document) -> dict[str, Any]:
    """By method and path: parameters, body, answers by status."""
    return {
        f"{method.upper()} {path}": _call(document, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    }


def _call(document: Document, about: Document) -> dict[str, Any]:
    found: dict[str, Any] = {}
    parameters = {
        f"{each['in']} {each['name']}{'' if each.get('required') else '?'}": _form(
            document, each["schema"]
        )
        for each in about.get("parameters", ())
    }
    if parameters:
        found["parameters"] = parameters
    if "requestBody" in about:
        found["body"] = _content(document, about["requestBody"])
    refusals = []
    for status, answer in sorted(about["responses"].items()):
        content = _content(document, answer, answers=True)
        if int(status) >= 400 and content == {"application/json": _PROBLEM}:
            refusals.append(int(status))
        else:
            found[f"answer {status}"] = content
    found["refusals"] = refusals
    return found


def _content(document: Document, about: Document, *, answers: bool = False) -> Any:
    """In answers all fields are there: what is not required has a default, which is
    sent as well."""
    return {
        media: _complete(form) if answers else form
        for media, content in about.get("content", {}).items()
        for form in [_form(document, content.get("schema", {}))]
    }


def _complete(form: Any) -> Any:
    if isinstance(form, dict):
        return {name.removesuffix("?"): _complete(each) for name, each in form.items()}
    if isinstance(form, list):
        return [_complete(each) for each in form]
    return str(form).partition(_NOT_GIVEN)[0]


def _form(document: Document, schema: Document) -> Any:
    """A text for what is simple; objects are objects, and lists lists."""
    if "$ref" in schema:
        return _form(document, _followed(document, schema["$ref"]))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            forms = [_form(document, each) for each in schema[word]]
            return _with_default(_either(forms), schema)
    if "allOf" in schema and len(schema["allOf"]) == 1:
        return _form(document, schema["allOf"][0])
    if "const" in schema:
        return f"{schema['const']!r}"
    if "enum" in schema:
        words = " | ".join(sorted(map(repr, schema["enum"])))
        return _with_default(words, schema)
    match schema.get("type"):
        case "object" | None if "properties" in schema:
            required = set(schema.get("required", ()))
            return {
                name if name in required else f"{name}?": _form(document, each)
                for name, each in schema["properties"].items()
            }
        case "object":
            values = schema.get("additionalProperties", True)
            is_any = not isinstance(values, dict) or not values
            return {"*": "anything" if is_any else _form(document, values)}
        case "array" if "prefixItems" in schema:
            return [_form(document, each) for each in schema["prefixItems"]]
        case "array":
            about = ", ".join(["list", *_bounds(schema)])
            return {about: _form(document, schema.get("items", {}))}
        case None:
            return "anything"
        case kind:
            return _with_default(", ".join([kind, *_bounds(schema)]), schema)


def _bounds(schema: Document) -> list[str]:
    return [
        text.format(_number(schema[name]))
        for name, text in _BOUNDS.items()
        if name in schema
    ]


def _number(value: Any) -> Any:
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def _either(forms: list[Any]) -> Any:
    if all(isinstance(form, str) for form in forms):
        return " or ".join(sorted(forms))
    if len(forms) == 2 and "null" in forms:
        return {"null or": next(form for form in forms if form != "null")}
    return {"one of": forms}


def _with_default(form: Any, schema: Document) -> Any:
    default = schema.get("default")
    if default is None or not isinstance(form, str):
        return form
    return f"{form}{_NOT_GIVEN}{_number(default)!r}"


def _followed(document: Document, reference: str) -> Document:
    found = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found
