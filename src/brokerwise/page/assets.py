"""The files of the page, and how they are to be served."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
# It loads nothing from anywhere else. Brokers, which it speaks to over WebSockets,
# listen on ports of their own.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_FOLDER = files("brokerwise.page")
ASSETS = frozenset(
    file.name for file in _FOLDER.iterdir() if PurePath(file.name).suffix in _TYPES
)


@dataclass(frozen=True)
class Asset:
    """`etag` is quoted, as the header has it, and another for other content."""

    content: bytes
    media_type: str
    etag: str


@cache
def asset(name: str) -> Asset:
    """One of `ASSETS`. Raises KeyError if there is none of that name."""
    if name not in ASSETS:
        raise KeyError(name)
    content = _FOLDER.joinpath(name).read_bytes()
    etag = f'"{sha256(content).hexdigest()[:32]}"'
    return Asset(content, _TYPES[PurePath(name).suffix], etag)
