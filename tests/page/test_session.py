"""A user of the page who is moved, with brokers that follow a script."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, expect
from tests.browser.chromium import needs_chromium
from tests.page import lines
from tests.page.pretend import TOKEN, pretend_coordinator
from tests.processes import wait_until
from websockets.sync.server import ServerConnection, serve

pytestmark = needs_chromium

WELCOME = {"type": "welcome", "epoch": 1, "silence_seconds": 60}
CURSOR = ["news", "bob", 1]


class Script:
    """One connection: what is sent, and what is waited for."""

    def __init__(self, name: str, connection: ServerConnection) -> None:
        self._connection = connection
        self.wait_for("login")
        self.send({**WELCOME, "broker": name})
        self.subscribed = self.wait_for("subscribe")

    def send(self, frame: dict[str, Any]) -> None:
        self._connection.send(json.dumps(frame))

    def message(self, seq: int) -> None:
        identity = {"topic": "news", "source": "bob", "epoch": 1, "seq": seq}
        self.send({"type": "message", **identity, "data": f"rain {seq}"})

    def answer(self, seq: int) -> None:
        found = {"topics": ["news"], "cursors": [[*CURSOR, seq]]}
        self.send({"type": "subscribed", "id": self.subscribed["id"], **found})

    def wait_for(self, kind: str) -> dict[str, Any]:
        while True:
            frame: dict[str, Any] = json.loads(self._connection.recv(timeout=20))
            if frame["type"] == kind:
                return frame


class Brokers:
    """The session moves from b0 to b1, which is ahead of it."""

    def __init__(self) -> None:
        self.moved: dict[str, Any] = {}
        self.acknowledged: dict[str, Any] = {}
        self.left = False
        self.there = ""
        self._joined, self._ahead = threading.Event(), threading.Event()

    def old(self, connection: ServerConnection) -> None:
        script = Script("b0", connection)
        script.answer(0)
        for seq in (1, 2):
            script.message(seq)
        script.send({"type": "request_to_move", "move": 9, "broker": "b1", "url": "x"})
        assert script.wait_for("accept")["move"] == 9
        there = {"broker": "b1", "url": self.there, "topics": []}
        script.send({"type": "connect", "move": 9, **there})
        assert self._ahead.wait(20)
        for seq in (3, 4, 5):
            script.message(seq)
        self.moved = script.wait_for("moved")
        script.wait_for("logout")
        self._joined.set()

    def new(self, connection: ServerConnection) -> None:
        script = Script("b1", connection)
        script.answer(4)
        script.message(5)
        script.message(6)
        self._ahead.set()
        assert self._joined.wait(20)
        script.message(7)
        self.acknowledged = script.wait_for("ack")
        while self.acknowledged["count"] < 3:
            self.acknowledged = script.wait_for("ack")
        asked = script.wait_for("unsubscribe")["id"]
        script.send({"type": "unsubscribed", "id": asked, "topics": ["news"]})
        script.wait_for("logout")
        self.left = True


@contextmanager
def broker(handler: Any) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    with serve(handler, sock=listening) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{listening.getsockname()[1]}"
        server.shutdown()
        thread.join()


def test_a_user_of_the_page_is_moved_and_sees_each_message_once(
    browser: Browser,
) -> None:
    brokers = Brokers()
    with (
        pretend_coordinator() as coordinator,
        broker(brokers.old) as here,
        broker(brokers.new) as brokers.there,
    ):
        place = {"broker": "b0", "url": here, "topics": None}
        coordinator.lines += [lines.hello(2), lines.tick(2, 900)]
        coordinator.answers |= {
            "registeruser": {"user": "page", "token": "user.x.y"},
            "requestbroker": {"sessions": [place], "unserved": []},
            "balance/decisions": {"decisions": []},
        }
        page = browser.new_page()
        page.goto(f"{coordinator.url}/#token={TOKEN}")
        page.get_by_role("tab", name="Try it").click()
        page.locator("#subscribe").click()
        shown = page.locator("#messages .data")
        expect(shown.first).to_have_text("rain 7")
        assert shown.all_inner_texts() == [f"rain {seq}" for seq in range(7, 0, -1)]
        expect(page.locator("#subscribed")).to_contain_text("news on b1")
        wait_until(lambda: brokers.acknowledged.get("count") == 3, 20)
        page.get_by_label("Unsubscribe from news").click()
        wait_until(lambda: brokers.left, 20)
        page.close()
    assert brokers.moved["move"] == 9
    assert brokers.acknowledged["cursors"][-1] == [*CURSOR, 7]
