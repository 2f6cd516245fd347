"""Whether a request asks for a WebSocket, and what it is answered."""

import h11
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

_OF_A_BODY = (b"content-length", b"transfer-encoding")


def wants_websocket(request: h11.Request) -> bool:
    """Other protocols that a request would like to change to are passed over."""
    return any(
        name == b"upgrade" and b"websocket" in value.lower()
        for name, value in request.headers
    )


def accept(request: h11.Request) -> Response:
    """101 and the key that proves it, or a refusal that says what is missing.

    No extension is agreed on, so nothing is compressed.
    """
    handshake = ServerProtocol()
    if any(_announces_body(name, value) for name, value in request.headers):
        return handshake.reject(400, "A WebSocket handshake has no body.\n")
    headers = Headers(
        (name.decode("ascii"), value.decode("latin-1"))
        for name, value in request.headers
    )
    asked = Request(
        request.target.decode("ascii"),
        headers,
        request.method.decode("ascii"),
        f"HTTP/{request.http_version.decode('ascii')}",
    )
    return handshake.accept(asked)


def _announces_body(name: bytes, value: bytes) -> bool:
    """Java's client says of its handshake that its length is 0, which is as good as
    nothing."""
    return name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
