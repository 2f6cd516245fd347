"""One broker from near by: its topics and sessions, as it says itself."""

from collections.abc import Mapping
from typing import Any

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.coordinator.orders import BrokerClient, LoadPage, SessionPage
from brokerwise.runtime.coordinator.watch_topics import busiest, topic_rows

MOST_TOPICS = 500
MOST_SESSIONS = 500


async def ask_broker(
    telling: BrokerClient, broker: Broker, targets: Mapping[str, float]
) -> dict[str, Any]:
    """`problem` says why it cannot be asked, if it cannot. Cancelling it loses
    nothing."""
    page, sessions, problem = LoadPage(), dict[str, SessionPage](), ""
    if not broker.alive:
        problem = f"broker {broker.name!r} is not there to be asked"
    else:
        try:
            page = await telling.load(broker.address)
            sessions = await telling.sessions(broker.address)
        except BrokerwiseError as error:
            problem = error.message
    rows = busiest(topic_rows(broker.name, page, targets), MOST_TOPICS)
    users = sorted(sessions)
    return {
        "topics": [_without_broker(msgspec.structs.asdict(row)) for row in rows],
        "topic_count": len(page.topics),
        "session_list": [
            {"user": user, "topics": len(sessions[user].topics)}
            for user in users[:MOST_SESSIONS]
        ],
        "session_count": len(users),
        "problem": problem,
    }


def _without_broker(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "broker"}
