"""The page of one plan over HTTP: static files for anybody, data with a token."""

from fastapi import Request, Response
from starlette.applications import Starlette
from starlette.routing import Route

from brokerwise.model.errors import BrokerwiseError
from brokerwise.page.assets import ASSETS
from brokerwise.runtime.net.answers import json_answer
from brokerwise.runtime.net.api import OPERATORS
from brokerwise.runtime.net.gate import Gate
from brokerwise.runtime.net.static import asset_answer
from brokerwise.runtime.protocol.tokens import Keys
from brokerwise.viewing.view import View

PAGE = "plan.html"
_FILES = "/page"
_MOST_TEXT = 1024  # bytes that a name has at most
_MOST_DIGITS = 9  # of the number of a broker


def make_app(view: View, keys: Keys) -> Gate:
    """The whole as an ASGI application; holders of an operator's token see the plan."""
    calls = _Calls(view)
    routes = [
        Route("/", _page),
        Route(f"{_FILES}/{{name}}", _file),
        Route("/plan", calls.plan),
        Route("/plan/find", calls.find),
        Route("/plan/broker/{number}", calls.broker),
    ]
    files = {f"{_FILES}/{name}" for name in ASSETS}
    app = Starlette(routes=routes)
    return Gate(app, keys, {"/plan": OPERATORS}, frozenset({"/", *files}))


def _page(request: Request) -> Response:
    return asset_answer(request, PAGE)


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    return asset_answer(request, name) if name in ASSETS else _missing(f"file {name}")


def _missing(what: str) -> Response:
    answer = json_answer({"error": f"there is no {what}"})
    answer.status_code = 404
    return answer


class _Calls:
    """They read files, so they run in threads: plain functions do."""

    def __init__(self, view: View) -> None:
        self._view = view

    def plan(self, request: Request) -> Response:
        return json_answer(self._view.plan)

    def find(self, request: Request) -> Response:
        text = request.query_params.get("text", "").strip()
        if len(text.encode()) > _MOST_TEXT:
            text = ""  # no name is so long
        try:
            return json_answer(self._view.find(text))
        except (BrokerwiseError, OSError, LookupError) as error:
            said = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            answer = json_answer({"error": f"files of the plan cannot be read: {said}"})
            answer.status_code = 500
            return answer

    def broker(self, request: Request) -> Response:
        text = request.path_params["number"]
        is_number = text.isdecimal() and len(text) <= _MOST_DIGITS
        found = self._view.broker(int(text)) if is_number else None
        return _missing("such broker") if found is None else json_answer(found)
