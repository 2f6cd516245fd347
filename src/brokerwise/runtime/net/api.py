"""An HTTP API as a list of endpoints: who may call them, how errors look."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from brokerwise.runtime.net.docs_page import docs_page
from brokerwise.runtime.net.gate import Gate
from brokerwise.runtime.net.refusals import RefusalError
from brokerwise.runtime.protocol.limits import VERSION
from brokerwise.runtime.protocol.tokens import Keys, Role

ANYONE = frozenset(Role)
BROKERS = frozenset({Role.BROKER})
OPERATORS = frozenset({Role.OPERATOR})
USERS = frozenset({Role.USER, Role.OPERATOR})
OPEN = frozenset({"/health", "/docs", "/openapi.json"})

_MEANINGS = {
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
_SHOWN = 5  # errors of one body


@dataclass(frozen=True)
class Endpoint:
    """`refusals` are the statuses that it has beside those that all have; `most`
    the bytes that a body may have, where they are more than usual. An answer that is
    text has its media type instead of a type."""

    method: str
    path: str
    call: Callable[..., Any]
    roles: frozenset[Role]
    answer: type | str
    refusals: tuple[int, ...] = ()
    most: int = 0


@dataclass(frozen=True)
class Service:
    """What there is to know of a service: `health` is a call and what it answers,
    for anybody; `metrics` for operators. `pages` are calls by path, for anybody, that
    browsers make and the API page does not show."""

    title: str
    description: str
    endpoints: Sequence[Endpoint]
    health: tuple[Callable[..., Any], type]
    metrics: Callable[..., Any]
    pages: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


class Problem(BaseModel):
    """Why a request was refused."""

    error: str


def make_service(service: Service, keys: Keys) -> Gate:
    """The whole API as an ASGI application."""
    app = FastAPI(
        title=service.title,
        version=str(VERSION),
        description=service.description,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        generate_unique_id_function=lambda route: route.name,
    )
    for endpoint in service.endpoints:
        _add(app, endpoint)
    _add_others(app, service)
    _answer_errors(app)
    roles = {_first_part(e): e.roles for e in service.endpoints}
    larger = {_first_part(e): e.most for e in service.endpoints if e.most}
    open_paths = frozenset({*OPEN, *service.pages})
    return Gate(app, keys, roles | {"/metrics": OPERATORS}, open_paths, larger=larger)


def _first_part(endpoint: Endpoint) -> str:
    return f"/{endpoint.path.split('/')[1]}"


def _add(app: FastAPI, endpoint: Endpoint) -> None:
    statuses = sorted({*_ALWAYS, *endpoint.refusals})
    names = " or ".join(sorted(endpoint.roles))
    bearer = HTTPBearer(auto_error=False, description="The token of a fleet's role.")
    is_text = isinstance(endpoint.answer, str)
    app.add_api_route(
        endpoint.path,
        endpoint.call,
        methods=[endpoint.method],
        response_model=None if is_text else endpoint.answer,
        response_class=Response if is_text else JSONResponse,
        response_description="Done.",
        responses=_text(endpoint.answer) | _refusals(statuses),
        tags=[names if endpoint.roles != ANYONE else "anyone with a token"],
        dependencies=[Security(bearer)],
    )


def _add_others(app: FastAPI, service: Service) -> None:
    app.add_api_route(
        "/metrics",
        service.metrics,
        response_class=Response,
        responses=_text("text/plain") | _refusals(_ALWAYS),
        tags=["operator"],
        dependencies=[Security(HTTPBearer(auto_error=False))],
    )
    health, answer = service.health
    app.add_api_route("/health", health, response_model=answer, tags=["anybody"])
    page: list[str] = []

    async def docs() -> HTMLResponse:
        if not page:
            page.append(docs_page(app.openapi()))
        return HTMLResponse(page[0])

    for path, call in {"/docs": docs, **service.pages}.items():
        app.add_api_route(path, call, include_in_schema=False)


def _text(answer: type | str) -> dict[int | str, dict[str, Any]]:
    """How an answer that is text is described; others describe themselves."""
    if not isinstance(answer, str):
        return {}
    return {200: {"content": {answer: {"schema": {"type": "string"}}}}}


def _refusals(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": Problem, "description": _MEANINGS[status]}
        for status in statuses
    }


def _answer_errors(app: FastAPI) -> None:
    """Every error is {"error": text}, and says nothing back that was sent."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, RefusalError)
        return _error(error.status, error.message)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        shown = [_where(e) for e in error.errors()[:_SHOWN]]
        return _error(422, "; ".join(shown))

    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        # The framework says 400 of JSON that it cannot read for its depth or size.
        status = 422 if error.status_code == 400 else error.status_code
        return _error(status, str(error.detail), error.headers)

    async def not_stored(request: Request, error: Exception) -> Response:
        return _error(503, f"the state cannot be stored: {error}")

    app.add_exception_handler(RefusalError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)
    app.add_exception_handler(sqlite3.Error, not_stored)


def _where(error: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"])
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


def _error(status: int, text: str, headers: Any = None) -> Response:
    plain = text.encode("utf-8", "backslashreplace").decode()
    return Response(
        msgspec.json.encode({"error": plain}),
        status,
        headers,
        media_type="application/json",
    )
