"""How our services listen: uvicorn, with patience that ends."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from brokerwise.runtime.net.gate import Gate
from brokerwise.runtime.protocol.limits import LOGIN_SECONDS, MAX_HEAD_BYTES

BACKLOG = 2048
KEEP_SECONDS = 5  # that a broker's connection waits for its next request
GRACE_SECONDS = 1  # that requests under way have when the server stops


class Patient(H11Protocol):
    """A connection that is closed if no request has come in time. It is good for one
    request, unless it is a broker's (see `Gate`), so it need not be watched
    afterwards."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._patience = self.loop.call_later(LOGIN_SECONDS, self._hang_up)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    def _hang_up(self) -> None:
        if self.cycle is None:
            self.transport.close()


class Server(uvicorn.Server):
    """Calls `started_up` once it can be reached; leaves signals to others."""

    def __init__(self, config: uvicorn.Config, started_up: Callable[[], None]) -> None:
        super().__init__(config)
        self._started_up = started_up

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started_up()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def url_of(bound: socket.socket, host: str, *, secure: bool) -> str:
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if secure else "http"
    return f"{scheme}://{shown}:{bound.getsockname()[1]}"


def server(
    app: Gate,
    started_up: Callable[[], None] = lambda: None,
    *,
    certificate: str = "",
    private_key: str = "",
) -> Server:
    """A server for `serve(sockets=[...])`; `should_exit` ends it."""
    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=certificate or None,
        ssl_keyfile=private_key or None,
    )
    return Server(config, started_up)
