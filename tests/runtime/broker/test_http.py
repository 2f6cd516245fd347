"""What a broker's pages answer to whom."""

import asyncio

import msgspec
import pytest

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.http import HttpApi
from brokerwise.runtime.net.http import HttpAnswer, HttpRequest
from brokerwise.runtime.protocol.data import Notification
from brokerwise.runtime.protocol.fleet import (
    BalancePage,
    BrokerHealth,
    LoadPage,
    MoveAnswer,
    MoveOrder,
    PostedMessage,
    RouteChange,
    RouteChangeAnswer,
    SessionState,
    StopOrder,
)
from brokerwise.runtime.protocol.tokens import Keys, Role

KEYS = Keys.of_secret(b"secret")
GOOD = b'{"topic": "news", "epoch": 1, "seq": 1, "data": "hello"}'


class Noted:
    """Notes what was posted; nobody can say where topic `lost` is."""

    def __init__(self) -> None:
        self.posted: list[PostedMessage] = []
        self.notifications: list[Notification] = []

    def health(self) -> BrokerHealth:
        return BrokerHealth("up", "b0", 1, 0.5)

    def load(self) -> LoadPage:
        return LoadPage("b0", 1)

    def sessions(self) -> dict[str, SessionState]:
        return {}

    def balance(self) -> BalancePage:
        return BalancePage("b0", 1, (("news", 2.5, 0.5),), (("ann", (0,), 7),))

    def metrics(self) -> str:
        return "up 1\n"

    async def publish(self, posted: PostedMessage) -> bool:
        if posted.topic == "lost":
            raise BrokerwiseError("cannot reach it")
        self.posted.append(posted)
        return posted.topic == "news"

    def change_routes(self, change: RouteChange) -> RouteChangeAnswer:
        return RouteChangeAnswer(())

    async def move(self, order: MoveOrder) -> MoveAnswer:
        return MoveAnswer("absent")

    def notify(self, notification: Notification) -> None:
        self.notifications.append(notification)

    def stop(self, order: StopOrder) -> None:
        raise AssertionError("nobody asked for it")


def answer(
    actions: Noted, role: Role, path: str, body: bytes = b"", method: str = "POST"
) -> HttpAnswer:
    headers = {"authorization": f"Bearer {KEYS.token(role, 'ann')}"}
    request = HttpRequest(method, path, {}, headers, body)
    return asyncio.run(HttpApi(KEYS, actions).answer(request))


def test_a_message_is_published_under_the_name_of_its_user() -> None:
    actions = Noted()
    found = answer(actions, Role.USER, "/publish", GOOD)
    assert (found.status, found.body) == (200, b'{"accepted":true}')
    assert [(p.source, bytes(p.data)) for p in actions.posted] == [("ann", b'"hello"')]


@pytest.mark.parametrize(("topic", "status"), [("nwes", 404), ("lost", 503)])
def test_a_topic_without_a_route_is_not_our_fault(topic: str, status: int) -> None:
    body = GOOD.replace(b"news", topic.encode())
    found = answer(Noted(), Role.USER, "/publish", body)
    assert found.status == status
    assert msgspec.json.decode(found.body)["error"]


@pytest.mark.parametrize("page", ["routes", "move", "stop"])
@pytest.mark.parametrize("body", [b"", b"[]", b'{"a": "\xff"}', b'{"a":' * 100_000])
def test_an_order_that_cannot_be_read_is_refused(page: str, body: bytes) -> None:
    found = answer(Noted(), Role.BROKER, f"/control/{page}", body)
    assert found.status == 422


@pytest.mark.parametrize(
    ("role", "method", "path", "status"),
    [
        (Role.USER, "GET", "/load", 403),
        (Role.OPERATOR, "GET", "/load", 403),
        (Role.BROKER, "GET", "/load", 200),
        (Role.BROKER, "GET", "/metrics", 200),
        (Role.BROKER, "GET", "/balance", 200),
        (Role.OPERATOR, "GET", "/balance", 403),
        (Role.BROKER, "POST", "/publish", 403),
        (Role.BROKER, "POST", "/load", 405),
        (Role.BROKER, "GET", "/nothing", 404),
        (Role.USER, "GET", "/health", 200),
    ],
)
def test_a_page_is_for_those_whom_it_concerns(
    role: Role, method: str, path: str, status: int
) -> None:
    assert answer(Noted(), role, path, method=method).status == status


def test_a_notification_comes_in_either_spelling_of_its_time() -> None:
    actions = Noted()
    for spelling in ("channelExecutionTime", "channelExecutionEpochTime"):
        body = (
            b'{"channelName": "near", "subscriptionIds": [3, 7], "'
            + spelling.encode()
            + b'": 1700000000.5}'
        )
        assert answer(actions, Role.BROKER, "/notify", body).status == 200
        assert answer(actions, Role.USER, "/notify", body).status == 403
    assert [n.subscriptionIds for n in actions.notifications] == [(3, 7), (3, 7)]
    assert actions.notifications[0].channelExecutionTime == 1700000000.5
    assert actions.notifications[1].channelExecutionEpochTime == 1700000000.5
