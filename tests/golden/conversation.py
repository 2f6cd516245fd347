"""What guests and a broker say to each other over WebSockets, frame by frame."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.golden.fleet import Fleet, ask
from tests.golden.forms import steady
from tests.golden.http_calls import broker_calls
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

SECONDS = 30.0
HERE = "channel/near?place=here"
OFTEN = "beat"  # says only that a broker is there


class Guest:
    """A connection, of which everything is noted but beats."""

    def __init__(self, name: str, line: ClientConnection, noted: list[Any]) -> None:
        self._name, self._line, self._noted = name, line, noted

    def say(self, type_: str, **fields: Any) -> None:
        frame = {"type": type_, **fields}
        self._noted.append({f"{self._name} says": steady(frame)})
        self._line.send(json.dumps(frame))

    def hear(self, *types: str) -> dict[str, Any]:
        """The next frames, which are of these types; the last of them."""
        frame: dict[str, Any] = {}
        for type_ in types:
            frame = self._next()
            self._noted.append({f"{self._name} hears": steady(frame)})
            assert frame["type"] == type_, frame
        return frame

    def closed(self) -> None:
        """Nothing comes any more, and this is why."""
        try:
            frame = self._next()
        except ConnectionClosed as end:
            code, reason = (end.rcvd.code, end.rcvd.reason) if end.rcvd else (1006, "")
            self._noted.append({f"{self._name} is closed": [code, reason]})
        else:
            raise AssertionError(f"not closed, but {frame}")

    def _next(self) -> dict[str, Any]:
        while True:
            frame: dict[str, Any] = json.loads(self._line.recv(SECONDS))
            if frame["type"] != OFTEN:
                return frame


class Conversation:
    """`frames` in their order, and the HTTP calls of a broker meanwhile."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.frames: list[Any] = []
        self.calls: dict[str, Any] = {}
        self._b0, self._b1 = (fleet.brokers()[name]["url"] for name in ("b0", "b1"))

    def hold(self) -> "Conversation":
        with self._guest("ann") as ann, self._guest("bob") as bob:
            self._log_in(ann, "ann")
            self._log_in(bob, "bob", source="bob/1")
            self._messages(ann, bob)
            self._problems(ann, bob)
            self._channel(ann)
            self.calls = broker_calls(self._fleet)
            ann.hear("message", "message")  # what was published meanwhile
            self._move(ann)
            ann.say("unsubscribe", id=9, topics=["news"])
            ann.hear("unsubscribed")
            for guest in (bob, ann):
                guest.say("logout")
                guest.closed()
        self._old_route()
        self._refusals()
        return self

    @contextmanager
    def _guest(self, name: str, url: str = "") -> Iterator[Guest]:
        with connect(f"{url or self._b0}/session", open_timeout=SECONDS) as line:
            yield Guest(name, line, self.frames)

    def _log_in(self, guest: Guest, user: str, **more: Any) -> None:
        guest.say("login", user=user, token=self._fleet.tokens[user], **more)
        guest.hear("welcome")

    def _messages(self, ann: Guest, bob: Guest) -> None:
        ann.say("subscribe", id=1, topics=["news"])
        ann.hear("subscribed")
        message = {"topic": "news", "epoch": 1, "data": {"a": [1]}, "at": 1.5}
        bob.say("publish", seq=1, **message)
        generation = bob.hear("stale_route")["generation"]
        bob.hear("published")
        bob.say("publish", seq=2, generation=generation, **message)
        bob.hear("published")
        ann.hear("message", "message")
        ann.say("ack", count=2, cursors=[["news", "bob/1", 1, 2]])

    def _problems(self, ann: Guest, bob: Guest) -> None:
        ann.say("subscribe", id=2, topics=["news", HERE])
        ann.hear("problem")
        ann.say("subscribe", id=3, ranges={"x": [0, 1]})
        ann.hear("problem")
        ann.say("subscribe", id=4, topics=["channel/none"])
        ann.hear("problem", "subscribed")
        ann.say("unsubscribe", id=5, topics=["art"])
        ann.hear("problem", "unsubscribed")
        ann.say("accept", move=77)
        ann.hear("problem")
        bob.say("publish", topic="channel/near", epoch=1, seq=1)
        bob.hear("problem", "published")

    def _channel(self, ann: Guest) -> None:
        """Two results were there before this fleet was."""
        ann.say("subscribe", id=6, topics=[HERE])
        ann.hear("subscribed", "message", "message")
        ann.say("ack", count=4, cursors=[[HERE, "data-cluster", 1, 2]])

    def _move(self, ann: Guest) -> None:
        """To where she does not really go: the broker takes her word."""
        to = {"broker": "b1", "url": self._b1}
        order = {"move": 901, "user": "ann", "to": to, "topics": ["news"]}
        for step, asked, answers in (
            ("request_to_move", "request_to_move", "accept"),
            ("connect", "connect", "moved"),
        ):
            with self._ordered({**order, "step": step}):
                ann.hear(asked)
                ann.say(answers, move=901)
        with self._ordered({**order, "move": 902, "step": "request_to_move"}):
            ann.hear("request_to_move")
            ann.say("decline", move=902, reason="busy")

    @contextmanager
    def _ordered(self, order: dict[str, Any]) -> Iterator[None]:
        """The coordinator's order to the broker; its answer is noted at the end."""
        url = "http" + self._b0.removeprefix("ws") + "/control/move"
        found: list[Any] = []

        def work() -> None:
            found.append(ask(url, self._fleet.tokens["broker"], order).json)

        thread = threading.Thread(target=work)
        thread.start()
        yield
        thread.join(SECONDS)
        self.frames.append({"the broker is ordered": steady(order), "says": found[0]})

    def _old_route(self) -> None:
        """Bob publishes at a broker that does not carry the topic."""
        with self._guest("ann") as ann, self._guest("bob", self._b1) as bob:
            self._log_in(ann, "ann")
            ann.say("subscribe", id=1, topics=["art"])
            ann.hear("subscribed")
            self._log_in(bob, "bob")
            bob.say("publish", topic="art", epoch=2, seq=1, data="passed on")
            bob.hear("published", "stale_route")
            ann.hear("message")

    def _refusals(self) -> None:
        token = self._fleet.tokens["ann"]
        with self._guest("a guest") as guest:
            guest.say("login", user="ann", token="user.YW5u.00")
            guest.closed()
        with self._guest("a guest") as guest:
            guest.say("login", user="bob", token=token)
            guest.closed()
        with self._guest("a guest") as guest:
            guest.say("login", user="ann", token=token, source="bob")
            guest.closed()
        with self._guest("a guest") as guest:
            guest.say("login", user="ann", token=token, version=2)
            guest.closed()
        with self._guest("a guest") as guest:
            guest.say("hello")
            guest.closed()
        with self._guest("a guest") as guest:
            guest.say("subscribe", topics=["news"])
            guest.closed()
        with self._guest("ann") as first, self._guest("ann again") as second:
            self._log_in(first, "ann")
            first.say("subscribe", id=1, topics=["news"])
            first.hear("subscribed")
            self._log_in(second, "ann")
            second.say("subscribe", id=1, topics=["news"])
            second.hear("subscribed")
            first.closed()
