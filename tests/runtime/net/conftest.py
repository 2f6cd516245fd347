"""Each test of sockets runs on both event loops."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest
import trustme
import uvloop

TEST_SECONDS = 30.0

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine to its end, in bounded time."""

    def bounded(coroutine: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(asyncio.wait_for(coroutine, TEST_SECONDS))

    return bounded


@dataclass(frozen=True)
class Certificates:
    """For 127.0.0.1: what the server shows, and whom the client trusts."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    authority = trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return Certificates(server, client)
