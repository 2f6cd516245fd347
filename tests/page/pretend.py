"""A coordinator that says what a test wants it to, for pages in a browser."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from tests.runtime.net.ends import served_in_thread

from brokerwise.page.assets import HEADERS, asset
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.net.server import Admission, Admit

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

    def admit(self, head: HttpRequest) -> Admission:
        return Admission(self._answer, 1 << 20, 5.0, is_kept=False)

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        path = request.path.removeprefix("/")
        if not path or path.startswith("page/"):
            found = asset(path.removeprefix("page/") or "index.html")
            headers = tuple(HEADERS.items())
            return HttpAnswer(200, found.content, found.media_type, headers)
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return _json(401, {"error": "a valid token is needed"})
        if self.away:
            return _json(503, {"error": "away"})
        if path == "watch":
            return HttpAnswer(200, b"", "application/x-ndjson", stream=self._told())
        if request.method == "POST":
            self.posted.append((path, json.loads(request.body)))
        if path not in self.answers:
            return _json(404, {"error": f"there is no {path}"})
        return _json(200, self.answers[path])

    async def _told(self) -> AsyncGenerator[bytes, None]:
        sent = 0
        while not self.away:
            while sent < len(self.lines):
                yield json.dumps(self.lines[sent]).encode() + b"\n"
                sent += 1
            await asyncio.sleep(0.02)


def _json(status: int, content: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(content).encode())


@contextmanager
def pretend_coordinator() -> Iterator[PretendCoordinator]:
    coordinator = PretendCoordinator()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Admit]:
        yield coordinator.admit

    with served_in_thread(opened) as url:
        coordinator.url = url
        try:
            yield coordinator
        finally:
            coordinator.away = True
