"""An HTTP API as a table of endpoints: who may call them, with what, how errors look.

An `Endpoint` names a function; what it takes and answers is read off its signature, by
the types of `protocol/`. `HttpService` decides by the head of a request who comes in
and how long the body may be, then reads the body and calls the function. The same types
make the description of the API (`net/openapi.py`). Every error is {"error": text}.
"""

import asyncio
import inspect
import re
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec

from brokerwise.page.assets import ASSETS, HEADERS, asset
from brokerwise.runtime.net.errors import RefusalError
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Admission, BadRequestError
from brokerwise.runtime.protocol.fields import (
    BodyReader,
    Empty,
    ErrorAnswer,
    FieldError,
    TextReader,
)
from brokerwise.runtime.protocol.limits import (
    LOGIN_SECONDS,
    MAX_FRAME_BYTES,
    MAX_HEAD_BYTES,
)
from brokerwise.runtime.protocol.tokens import Holder, Keys, Role

ANYONE = frozenset(Role)
BROKERS = frozenset({Role.BROKER})
OPERATORS = frozenset({Role.OPERATOR})
USERS = frozenset({Role.USER, Role.OPERATOR})

GRACE_SECONDS = 1.0  # that requests under way have when a service stops
MAX_BROKER_BODY_BYTES = 16 << 20  # a broker may carry very many topics
LARGER_BODY_SECONDS = 30.0  # that a body has which may be larger than usual
_KEPT = frozenset({Role.BROKER, Role.OPERATOR})
_PLACE = re.compile(r"\{(\w+)(:path)?\}")
_JSON = "application/json"
_PAGES = "/page/"


class MediaType(NamedTuple):
    """Of an answer that is no JSON."""

    name: str


Text = Annotated[str, MediaType("text/plain")]
Html = Annotated[str, MediaType("text/html")]
Lines = Annotated[AsyncGenerator[bytes, None], MediaType("application/x-ndjson")]


@dataclass(frozen=True)
class Endpoint:
    """A call of an API.

    Of the function's parameters `body` is the body (a type of `protocol/`, or `bytes`),
    those in braces in the path come from there (`{name:path}` may hold slashes), one
    that is a `Holder` or an `HttpRequest` is that, and all others come from the query.
    It returns what its annotation says; None answers {}. A plain function runs in a
    thread. Its docstring is what the API page says about it.

    `refusals` are the statuses that it has beside those that all have; `largest` the
    bytes that a body may have, where they are more than usual. Without `roles` it is
    for anybody; one that is not `shown` is for browsers.
    """

    method: str
    path: str
    roles: frozenset[Role]
    call: Callable[..., Any]
    refusals: tuple[int, ...] = ()
    largest: int = 0
    shown: bool = True

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.call, eval_str=True)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Of the paths that it is for; a path comes without percent signs."""
        parts = _PLACE.split(self.path)  # text, name, ":path" or None, text, ...
        found = [re.escape(parts[0])]
        for name, rest, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            found += [f"(?P<{name}>{'.*' if rest else '[^/]+'})", re.escape(text)]
        return re.compile("".join(found), re.DOTALL)

    @property
    def shown_path(self) -> str:
        return _PLACE.sub(r"{\1}", self.path)

    @cached_property
    def body(self) -> Any:
        """The type of its body; None without one."""
        found = self.signature.parameters.get("body")
        return None if found is None else found.annotation

    @cached_property
    def texts(self) -> Sequence["TextParameter"]:
        """What comes from the path and the query."""
        inside = {name for name, _ in _PLACE.findall(self.path)}
        return tuple(
            TextParameter(
                name,
                "path" if name in inside else "query",
                found.annotation,
                found.default,
            )
            for name, found in self.signature.parameters.items()
            if name != "body" and found.annotation not in (Holder, HttpRequest)
        )

    @cached_property
    def given(self) -> Mapping[str, type]:
        """The parameters that are the holder of the token, or the request."""
        return {
            name: found.annotation
            for name, found in self.signature.parameters.items()
            if found.annotation in (Holder, HttpRequest)
        }

    @cached_property
    def answer(self) -> Any:
        """The type of what it answers, which is JSON unless it has a `media_type`."""
        found = self.signature.return_annotation
        return Empty if found is None else found

    @cached_property
    def media_type(self) -> str:
        if get_origin(self.answer) is Annotated:
            return str(get_args(self.answer)[1].name)
        return _JSON


class TextParameter:
    """What comes from the path or the query (`place`)."""

    def __init__(self, name: str, place: str, type_: Any, default: Any) -> None:
        self.name, self.place, self.type, self.default = name, place, type_, default
        self.is_required = default is inspect.Parameter.empty
        self._reader = TextReader(type_, f"{place}.{name}")

    def read(self, found: Mapping[str, str]) -> Any:
        if self.name in found:
            return self._reader.read(found[self.name])
        if self.is_required:
            raise FieldError(f"{self.place}.{self.name}", "it is missing")
        return self.default


class HttpService:
    """Answers requests by a table of endpoints. `admit` is for `serve_http`.

    Nothing of a request but its head is read before its token has been found good.
    Brokers and operators keep their connection for the next request; all others are
    closed after the answer.
    """

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        keys: Keys,
        *,
        body_seconds: float = LOGIN_SECONDS,
    ) -> None:
        self._keys, self._body_seconds = keys, body_seconds
        self._fixed: dict[str, list[tuple[Endpoint, _Call]]] = {}
        self._others: list[tuple[Endpoint, _Call]] = []
        for each in endpoints:
            is_fixed = "{" not in each.path
            found = self._fixed.setdefault(each.path, []) if is_fixed else self._others
            found.append((each, _caller(each)))

    def admit(self, head: HttpRequest) -> Admission:
        """Raises BadRequestError for a request that goes no further."""
        fitting = self._fitting(head.path)
        roles = fitting[0][0].roles if fitting else ANYONE
        holder = self._holder(head, roles) if roles else None
        if not fitting:
            raise BadRequestError(404, "Not Found")
        for endpoint, call, inside in fitting:
            if endpoint.method == head.method:
                answer = partial(call, holder, inside)
                return self._admission(endpoint, holder, answer)
        allowed = ", ".join(sorted({endpoint.method for endpoint, _, _ in fitting}))
        raise BadRequestError(405, "Method Not Allowed", (("allow", allowed),))

    def _fitting(self, path: str) -> list[tuple[Endpoint, "_Call", dict[str, str]]]:
        """The endpoints of a path, which have the same roles, and what is in it."""
        fixed = self._fixed.get(path)
        if fixed is not None:
            return [(endpoint, call, {}) for endpoint, call in fixed]
        return [
            (endpoint, call, found.groupdict())
            for endpoint, call in self._others
            if (found := endpoint.pattern.fullmatch(path))
        ]

    def _holder(self, head: HttpRequest, roles: frozenset[Role]) -> Holder:
        holder = self._keys.holder(head.token())
        if holder is None:
            raise BadRequestError(
                401,
                "a valid token is needed: Authorization: Bearer TOKEN",
                (("www-authenticate", "Bearer"),),
            )
        if holder.role not in roles:
            first = "/" + head.path.lstrip("/").partition("/")[0]
            names = " or ".join(sorted(roles))
            raise BadRequestError(403, f"{first} is for {names}, not for {holder.role}")
        return holder

    def _admission(
        self,
        endpoint: Endpoint,
        holder: Holder | None,
        answer: Callable[[HttpRequest], Any],
    ) -> Admission:
        if holder is None:  # of strangers no body is expected
            return Admission(answer, MAX_HEAD_BYTES, self._body_seconds, is_kept=False)
        most = MAX_FRAME_BYTES
        if holder.role is Role.BROKER:
            most = MAX_BROKER_BODY_BYTES
        return Admission(
            answer,
            max(most, endpoint.largest),
            LARGER_BODY_SECONDS if endpoint.largest else self._body_seconds,
            is_kept=holder.role in _KEPT,
        )


_Call = Callable[[Holder | None, Mapping[str, str], HttpRequest], Any]


def _caller(endpoint: Endpoint) -> _Call:
    """Answers a request whose head was let in, with what is in its path."""
    is_async = inspect.iscoroutinefunction(endpoint.call)
    body = endpoint.body
    reader = None if body in (None, bytes) else BodyReader(body)

    def arguments(
        holder: Holder | None, inside: Mapping[str, str], request: HttpRequest
    ) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: holder if kind is Holder else request
            for name, kind in endpoint.given.items()
        }
        if body is not None:
            found["body"] = (
                request.body if reader is None else reader.read(request.body)
            )
        for text in endpoint.texts:
            found[text.name] = text.read(
                inside if text.place == "path" else request.query
            )
        return found

    async def call(
        holder: Holder | None, inside: Mapping[str, str], request: HttpRequest
    ) -> HttpAnswer:
        try:
            given = arguments(holder, inside, request)
            if is_async:
                found = await endpoint.call(**given)
            else:
                found = await asyncio.to_thread(endpoint.call, **given)
        except RefusalError as refusal:
            return _refusal(refusal.status, refusal.message)
        except FieldError as error:
            return _refusal(422, error.message)
        except sqlite3.Error as error:
            return _refusal(503, f"the state cannot be stored: {error}")
        return _answer(found, endpoint.media_type)

    return call


def _answer(found: Any, media_type: str) -> HttpAnswer:
    if isinstance(found, HttpAnswer):
        return found
    if media_type == _JSON:
        content = msgspec.json.encode(Empty() if found is None else found)
        return HttpAnswer(200, content)
    if isinstance(found, str):
        return HttpAnswer(200, found.encode(), f"{media_type}; charset=utf-8")
    no_copy = (("cache-control", "no-store"),)
    return HttpAnswer(200, b"", media_type, no_copy, found)


def _refusal(status: int, text: str) -> HttpAnswer:
    plain = text.encode("utf-8", "backslashreplace").decode()
    return HttpAnswer(status, msgspec.json.encode(ErrorAnswer(plain)))


def page_endpoints(index: str) -> list[Endpoint]:
    """The files of the page, of which one is the first: they hold no data, and are for
    anybody."""

    def sending(name: str) -> Callable[..., Any]:
        async def page(request: HttpRequest) -> HttpAnswer:
            return _asset_answer(request, name)

        return page

    files = {"/": index, **{f"{_PAGES}{name}": name for name in ASSETS}}
    return [
        Endpoint("GET", path, frozenset(), sending(name), shown=False)
        for path, name in files.items()
    ]


def _asset_answer(request: HttpRequest, name: str) -> HttpAnswer:
    """304 and no content if whoever asks has it already; what somebody on the way has
    packed is the same file to us."""
    found = asset(name)
    headers = (*HEADERS.items(), ("ETag", found.etag))
    tags = request.headers.get("if-none-match", "").split(",")
    if found.etag in [tag.strip().removeprefix("W/") for tag in tags]:
        return HttpAnswer(304, headers=headers)
    return HttpAnswer(200, found.content, found.media_type, headers)
