"""What bodies are made of, with its bounds, and the one way to read them.

Bounds that msgspec knows are in `msgspec.Meta`. What else there is to say against a
value is a function in the type's `extra`: it gives the reason, or an empty text.
`BodyReader` and `TextReader` apply both. Unknown fields are ignored: either side may be
newer.
"""

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import inspect

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, MAX_SEQ
from brokerwise.runtime.protocol.names import refusal

T = TypeVar("T")
Refusal = Callable[[str], str]
_Check = Callable[[Any, str], None]
_EXTRA = "refusal"
_MAX_URL_LENGTH = 1024


def text_type(
    schema: dict[str, Any],
    refusal: Refusal,
    *,
    min_length: int | None = None,
    max_length: int | None = None,
) -> msgspec.Meta:
    """What a text must be: as described by a JSON schema, and as `refusal` finds."""
    return msgspec.Meta(
        min_length=min_length,
        max_length=max_length,
        extra_json_schema=schema,
        extra={_EXTRA: refusal},
    )


def matching(
    pattern: str, *, example: str = "", max_length: int | None = None
) -> msgspec.Meta:
    """A text that matches as a whole; the pattern begins with ^ and ends with $."""
    whole = re.compile(pattern.removeprefix("^").removesuffix("$"))
    schema: dict[str, Any] = {"pattern": pattern}
    if example:
        schema["examples"] = [example]

    def refused(text: str) -> str:
        return "" if whole.fullmatch(text) else f"expected a text like {pattern}"

    return text_type(schema, refused, max_length=max_length)


def one_of(words: Iterable[str]) -> msgspec.Meta:
    allowed = tuple(words)
    expected = f"expected one of {', '.join(allowed)}"
    return text_type(
        {"enum": list(allowed)}, lambda text: "" if text in allowed else expected
    )


Name = Annotated[
    str,
    text_type(
        {
            "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$",
            "description": f"At most {MAX_NAME_BYTES} bytes as UTF-8.",
        },
        refusal,
        min_length=1,
        max_length=MAX_NAME_BYTES,
    ),
]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SEQ)]
Number = Annotated[int, msgspec.Meta(ge=1, le=MAX_SEQ)]
SocketUrl = Annotated[
    str,
    matching(
        r"^wss?://[0-9A-Za-z._:\[\]%-]+$",
        example="ws://127.0.0.1:7001",
        max_length=_MAX_URL_LENGTH,
    ),
]
HttpUrl = Annotated[
    str,
    matching(
        r"^https?://[0-9A-Za-z._:\[\]%-]+$",
        example="http://127.0.0.1:7001",
        max_length=_MAX_URL_LENGTH,
    ),
]


class Empty(msgspec.Struct, frozen=True):
    """Nothing more is to be said."""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """Why a request was refused."""

    error: str


class FieldError(BrokerwiseError, ValueError):
    """A value is not what it must be: where it is, and what was expected."""

    def __init__(self, place: str, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(f"{place}: {reason}")


class BodyReader(Generic[T]):
    """Reads bodies of one kind."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._check = _check(inspect.type_info(kind))

    def read(self, content: bytes) -> T:
        """Raises FieldError for what is no such body."""
        try:
            content.decode()  # inside of what is passed on as it is nobody else looks
            found = self._decoder.decode(content)
        except (ValueError, RecursionError) as cause:
            raise _field_error("body", cause) from cause
        if self._check is not None:
            self._check(found, "body")
        return found


class TextReader(Generic[T]):
    """Reads values of one kind out of a place in a path or a query."""

    def __init__(self, kind: type[T], place: str) -> None:
        self._kind, self._place = kind, place
        self._check = _check(inspect.type_info(kind))

    def read(self, text: str) -> T:
        """Raises FieldError for a text that is no such value."""
        try:
            found = msgspec.convert(text, self._kind, strict=False)
        except ValueError as cause:
            raise _field_error(self._place, cause) from cause
        if self._check is not None:
            self._check(found, self._place)
        return found


def _field_error(place: str, cause: Exception) -> FieldError:
    """msgspec ends its message with the place: ` - at `$.topics[3]``."""
    reason, _, inside = str(cause).partition(" - at `$")
    return FieldError(place + inside.removesuffix("`"), reason)


def _check(info: inspect.Type) -> _Check | None:
    """What is to be checked of a value that msgspec found good; None if nothing is."""
    match info:
        case inspect.Metadata(type=inner, extra=extra):
            refusal = (extra or {}).get(_EXTRA)
            return _check(inner) if refusal is None else _check_text(refusal)
        case inspect.StructType():
            return _check_fields(info)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return _check_items(_check(item))
        case inspect.UnionType(types=types):
            found = [check for each in types if (check := _check(each)) is not None]
            return _check_option(found[0]) if found else None
        case _:
            return None


def _check_text(refusal: Refusal) -> _Check:
    def check(value: Any, place: str) -> None:
        reason = refusal(value)
        if reason:
            raise FieldError(place, reason)

    return check


def _check_fields(info: inspect.StructType) -> _Check | None:
    found = [
        (field.name, f".{field.encode_name}", inner)
        for field in info.fields
        if (inner := _check(field.type)) is not None
    ]
    if not found:
        return None

    def check(value: Any, place: str) -> None:
        for name, inside, inner in found:
            inner(getattr(value, name), place + inside)

    return check


def _check_items(inner: _Check | None) -> _Check | None:
    if inner is None:
        return None

    def check(value: Any, place: str) -> None:
        for number, item in enumerate(value):
            inner(item, f"{place}[{number}]")

    return check


def _check_option(inner: _Check) -> _Check:
    """Of the kinds that a value may have, at most one has something to check."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            inner(value, place)

    return check
