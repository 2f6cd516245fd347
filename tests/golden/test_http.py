"""What is asked and answered over HTTP."""

from typing import Any

import pytest
from tests.golden import http_calls, openapi
from tests.golden.conversation import Conversation
from tests.golden.fleet import Fleet, ask
from tests.golden.golden import compare

pytestmark = [pytest.mark.xdist_group("golden"), pytest.mark.live]


def described(url: str) -> dict[str, Any]:
    """The calls of a service, as its API page has them."""
    return openapi.calls(ask(f"{url}/openapi.json").json)


def noted(calls: dict[str, Any]) -> set[str]:
    """Method and path of calls that were noted, without what was asked of them."""
    return {call.split("?")[0].split(" (")[0] for call in calls}


def test_the_coordinator_describes_the_same_calls(fleet: Fleet) -> None:
    compare("coordinator_api", described(fleet.coordinator))


def test_the_data_cluster_describes_the_same_calls(fleet: Fleet) -> None:
    compare("data_cluster_api", described(fleet.data_cluster))


def test_the_coordinator_answers_as_it_did(
    fleet: Fleet, coordinator_calls: dict[str, Any]
) -> None:
    compare("coordinator_calls", coordinator_calls)
    one = {"/watch/broker/{name}": "/watch/broker/b0"}
    one["/balance/decisions/{number}"] = "/balance/decisions/1"
    for call in described(fleet.coordinator):
        method, path = call.split(" ")
        assert f"{method} {one.get(path, path)}" in noted(coordinator_calls)


def test_the_data_cluster_answers_as_it_did(
    fleet: Fleet, data_calls: dict[str, Any]
) -> None:
    compare("data_cluster_calls", data_calls)
    one = {"/feed/{dataset}": "/feed/notes", "/datasets/{name}": "/datasets/notes"}
    one["/channels/{name}"] = "/channels/near"
    for call in described(fleet.data_cluster):
        method, path = call.split(" ")
        assert f"{method} {one.get(path, path)}" in noted(data_calls)


def test_a_broker_answers_as_it_did(conversation: Conversation) -> None:
    compare("broker_calls", conversation.calls)


def test_a_broker_says_the_same_to_its_guests(conversation: Conversation) -> None:
    compare("conversation", conversation.frames)


@pytest.mark.parametrize("service", ["coordinator", "data_cluster"])
def test_who_may_call_what(
    service: str, fleet: Fleet, conversation: Conversation
) -> None:
    url = str(getattr(fleet, service))
    calls = sorted(described(url))
    compare(f"{service}_roles", http_calls.who_may_call(fleet, url, calls))


def test_metrics_have_the_same_names(fleet: Fleet, conversation: Conversation) -> None:
    compare("metrics", http_calls.metrics(fleet))
