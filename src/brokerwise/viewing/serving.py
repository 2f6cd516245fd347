"""The page of one plan over HTTP: static files for anybody, data with a token."""

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.api import (
    OPERATORS,
    Endpoint,
    HttpService,
    page_endpoints,
)
from brokerwise.runtime.net.errors import NotFoundError, RefusalError
from brokerwise.runtime.protocol.tokens import Keys
from brokerwise.viewing.view import Json, View

PAGE = "plan.html"
_MOST_TEXT = 1024  # bytes that a name has at most
_MOST_DIGITS = 9  # of the number of a broker


class UnreadableFilesError(RefusalError):
    """Files of the plan have gone, or are not what they were."""

    status = 500


def make_service(view: View, keys: Keys) -> HttpService:
    """Holders of an operator's token see the plan."""
    calls = _Calls(view)
    endpoints = [
        *page_endpoints(PAGE),
        Endpoint("GET", "/plan", OPERATORS, calls.plan),
        Endpoint("GET", "/plan/find", OPERATORS, calls.find),
        Endpoint("GET", "/plan/broker/{number}", OPERATORS, calls.broker),
    ]
    return HttpService(endpoints, keys)


class _Calls:
    """They read files, so they run in threads: plain functions do."""

    def __init__(self, view: View) -> None:
        self._view = view

    def plan(self) -> Json:
        return self._view.plan

    def find(self, text: str = "") -> Json:
        text = text.strip()
        if len(text.encode()) > _MOST_TEXT:
            text = ""  # no name is so long
        try:
            return self._view.find(text)
        except (BrokerwiseError, OSError, LookupError) as error:
            said = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            raise UnreadableFilesError(
                f"files of the plan cannot be read: {said}"
            ) from error

    def broker(self, number: str) -> Json:
        is_number = number.isdecimal() and len(number) <= _MOST_DIGITS
        found = self._view.broker(int(number)) if is_number else None
        if found is None:
            raise NotFoundError("there is no such broker")
        return found
