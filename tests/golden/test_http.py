"""What is asked and answered over HTTP and WebSockets."""

import pytest
from tests.golden.conftest import Tour
from tests.golden.golden import compare, known

pytestmark = [pytest.mark.xdist_group("golden"), pytest.mark.live]

# By the path that is described: the one that was called.
CALLED = {
    "/balance/decisions/{number}": "/balance/decisions/1",
    "/channels/{name}": "/channels/near",
    "/datasets/{name}": "/datasets/notes",
    "/feed/{dataset}": "/feed/notes",
    "/watch/broker/{name}": "/watch/broker/b0",
}


@pytest.mark.parametrize("service", ["coordinator", "data_cluster"])
def test_a_service_describes_the_same_calls(service: str, tour: Tour) -> None:
    compare(f"{service}_api", getattr(tour, f"{service}_api"))


@pytest.mark.parametrize("service", ["coordinator", "data_cluster"])
def test_a_service_answers_as_it_did(service: str, tour: Tour) -> None:
    compare(f"{service}_calls", getattr(tour, f"{service}_calls"))


@pytest.mark.parametrize("service", ["coordinator", "data_cluster"])
def test_every_call_is_tried(service: str, tour: Tour) -> None:
    noted = getattr(tour, f"{service}_calls")
    tried = {name.split("?")[0].split(" (")[0] for name in noted}
    for call in getattr(tour, f"{service}_api"):
        method, path = call.split(" ")
        assert f"{method} {CALLED.get(path, path)}" in tried


@pytest.mark.parametrize("service", ["coordinator", "data_cluster"])
def test_the_same_roles_may_make_a_call(service: str, tour: Tour) -> None:
    compare(f"{service}_roles", getattr(tour, f"{service}_roles"))


def test_a_broker_answers_as_it_did(tour: Tour) -> None:
    compare("broker_calls", tour.conversation.calls)


def test_a_broker_says_the_same_to_its_guests(tour: Tour) -> None:
    compare("conversation", tour.conversation.frames)


def test_metrics_have_the_same_names(tour: Tour) -> None:
    compare("metrics", tour.metrics)


def test_whoever_watches_is_sent_the_same_lines(tour: Tour) -> None:
    compare("watch", tour.watched.shapes())


def test_events_have_the_same_names(tour: Tour) -> None:
    seen = tour.watched.events()
    known("watch_events", seen)
    assert {"broker stopped", "broker up"} <= seen
