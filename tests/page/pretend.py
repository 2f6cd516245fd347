"""A coordinator that says what a test wants it to, for pages in a browser."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from brokerwise.page.assets import HEADERS, asset

TOKEN = "operator.b3A.00"


class PretendCoordinator:
    """`lines` are what everybody who watches is sent from now on; a body that is posted
    is kept in `posted`; `answers` are by path. While it is `away` nobody is answered.
    """

    def __init__(self) -> None:
        self.url = ""
        self.lines: list[Mapping[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.posted: list[tuple[str, Any]] = []
        self.away = False
        self.app = FastAPI(openapi_url=None)
        self.app.add_api_route("/", self._index)
        self.app.add_api_route("/page/{name}", self._asset)
        self.app.add_api_route("/watch", self._watch)
        self.app.add_api_route("/{path:path}", self._answer, methods=["GET", "POST"])

    async def _index(self) -> Response:
        return self._asset_response("index.html")

    async def _asset(self, name: str) -> Response:
        return self._asset_response(name)

    def _asset_response(self, name: str) -> Response:
        found = asset(name)
        return Response(found.content, 200, HEADERS, found.media_type)

    async def _watch(self, request: Request) -> Response:
        refusal = self._refusal(request)
        media_type = "application/x-ndjson"
        return refusal or StreamingResponse(self._told(), media_type=media_type)

    async def _told(self) -> AsyncIterator[str]:
        sent = 0
        while not self.away:
            while sent < len(self.lines):
                yield json.dumps(self.lines[sent]) + "\n"
                sent += 1
            await asyncio.sleep(0.02)

    async def _answer(self, request: Request, path: str) -> Response:
        refusal = self._refusal(request)
        if refusal:
            return refusal
        if request.method == "POST":
            self.posted.append((path, await request.json()))
        if path not in self.answers:
            return JSONResponse({"error": f"there is no {path}"}, 404)
        return JSONResponse(self.answers[path])

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"error": "a valid token is needed"}, 401)
        return JSONResponse({"error": "away"}, 503) if self.away else None


@contextmanager
def pretend_coordinator() -> Iterator[PretendCoordinator]:
    coordinator = PretendCoordinator()
    config = uvicorn.Config(coordinator.app, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        coordinator.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield coordinator
        finally:
            coordinator.away = True
            server.should_exit = True
            thread.join()
