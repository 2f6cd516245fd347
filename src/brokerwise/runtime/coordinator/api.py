"""The HTTP API: paths, who may call them, what they answer, how errors look."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from brokerwise.runtime import control
from brokerwise.runtime.coordinator import bodies
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.docs_page import docs_page
from brokerwise.runtime.coordinator.endpoints import Endpoints
from brokerwise.runtime.coordinator.gate import Gate
from brokerwise.runtime.coordinator.refusals import RefusalError
from brokerwise.runtime.limits import VERSION
from brokerwise.runtime.tokens import Role

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
    """`refusals` are the statuses that it has beside those that all have."""

    method: str
    path: str
    call: Callable[..., Any]
    roles: frozenset[Role]
    answer: type
    refusals: tuple[int, ...] = ()


def endpoints(calls: Endpoints) -> list[Endpoint]:
    """All but those that are open, and the metrics, which are no JSON."""
    return [*_for_brokers(calls), *_for_users(calls), *_for_operators(calls)]


def _for_brokers(calls: Endpoints) -> list[Endpoint]:
    configured, heard = control.BrokerConfiguration, control.HeartbeatAnswer
    return [
        Endpoint("POST", "/registerbroker", calls.register_broker, BROKERS, configured),
        Endpoint("POST", "/heartbeat", calls.heartbeat, BROKERS, heard),
        Endpoint("POST", "/leaving", calls.leaving, BROKERS, bodies.Nothing),
        Endpoint("POST", "/join", calls.join, BROKERS, control.JoinAnswer, (409,)),
    ]


def _for_users(calls: Endpoints) -> list[Endpoint]:
    answer, axes = control.BrokerAnswer, bodies.SubchannelsAnswer
    return [
        Endpoint("POST", "/requestbroker", calls.request_broker, USERS, answer),
        Endpoint("POST", "/routes", calls.routes, ANYONE, bodies.RoutesAnswer),
        Endpoint("GET", "/subchannels", calls.subchannels, ANYONE, axes),
    ]


def _for_operators(calls: Endpoints) -> list[Endpoint]:
    user, move, moves = bodies.UserAnswer, bodies.MoveAnswer, bodies.MovesAnswer
    status, drain, done = bodies.StatusAnswer, bodies.DrainAnswer, bodies.Nothing
    only = OPERATORS
    return [
        Endpoint("POST", "/registeruser", calls.register_user, only, user),
        Endpoint("POST", "/moves", calls.request_move, only, move, (404, 409)),
        Endpoint("GET", "/moves", calls.list_moves, only, moves),
        Endpoint("GET", "/moves/{id}", calls.show_move, only, move, (404,)),
        Endpoint("POST", "/drain", calls.drain, only, drain, (404, 409)),
        Endpoint("POST", "/activate", calls.activate, only, done, (404, 409)),
        Endpoint("GET", "/status", calls.status, only, status),
        Endpoint("GET", "/topics", calls.topics, only, bodies.TopicsAnswer),
    ]


def make_app(coordinator: Coordinator) -> Gate:
    """The whole API as an ASGI application; it does not run the coordinator."""
    calls = Endpoints(coordinator)
    found = endpoints(calls)
    app = FastAPI(
        title="Brokerwise coordinator",
        version=str(VERSION),
        description="Registers brokers and users, places sessions, keeps routes, and "
        "drives moves and drains. All bodies are JSON.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        generate_unique_id_function=lambda route: route.name,
    )
    for endpoint in found:
        _add(app, endpoint)
    _add_others(app, calls)
    _answer_errors(app)
    roles = {f"/{e.path.split('/')[1]}": e.roles for e in found}
    return Gate(app, coordinator.keys, roles | {"/metrics": OPERATORS}, OPEN)


def _add(app: FastAPI, endpoint: Endpoint) -> None:
    statuses = sorted({*_ALWAYS, *endpoint.refusals})
    names = " or ".join(sorted(endpoint.roles))
    bearer = HTTPBearer(auto_error=False, description="The token of a fleet's role.")
    app.add_api_route(
        endpoint.path,
        endpoint.call,
        methods=[endpoint.method],
        response_model=endpoint.answer,
        response_description="Done.",
        responses=_refusals(statuses),
        tags=[names if endpoint.roles != ANYONE else "anyone with a token"],
        dependencies=[Security(bearer)],
    )


def _add_others(app: FastAPI, calls: Endpoints) -> None:
    app.add_api_route(
        "/metrics",
        calls.metrics,
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            **_refusals(_ALWAYS),
        },
        tags=["operator"],
        dependencies=[Security(HTTPBearer(auto_error=False))],
    )
    app.add_api_route(
        "/health", calls.health, response_model=bodies.Health, tags=["anybody"]
    )
    page: list[str] = []

    async def docs() -> HTMLResponse:
        if not page:
            page.append(docs_page(app.openapi()))
        return HTMLResponse(page[0])

    app.add_api_route("/docs", docs, include_in_schema=False)


def _refusals(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": bodies.Problem, "description": _MEANINGS[status]}
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
