"""A request over plain HTTP, and its answer."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class HttpRequest:
    """One whole request.

    Attributes
    ----------
    path
        Without percent signs and query.
    query
        The last value of each name.
    headers
        By name in lower case; values of a name that comes twice joined by a comma.
    """

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def token(self) -> str:
        """The bearer token; empty if there is none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    body: bytes = b""
    content_type: str = "application/json"


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """Path and query of a request's target. Raises ValueError if it is malformed."""
    if target.startswith("/"):  # urlsplit would take //a for a host
        path, _, query = target.partition("?")
    else:
        parts = urlsplit(target)
        path, query = parts.path, parts.query
    return unquote(path), dict(parse_qsl(query, keep_blank_values=True))
