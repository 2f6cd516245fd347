"""Messages a second, from counters that come when they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.watch_flow import Flow, Rate
from brokerwise.runtime.protocol.control import Heartbeat


def beat(broker: str, received: int, delivered: int = 0) -> Heartbeat:
    return Heartbeat(broker, 1, 0, 0, received, delivered, 0.0)


def test_what_was_counted_before_the_first_report_is_not_of_now() -> None:
    flow = Flow()
    flow.hear(beat("b0", 1_000_000), 5.0)
    assert flow.look(["b0"]) == Rate(0.0, 0.0)
    flow.hear(beat("b0", 1_000_030, 60), 8.0)
    assert flow.look(["b0"]) == Rate(10.0, 20.0)


@given(st.lists(st.booleans(), min_size=2, max_size=60))
def test_an_even_stream_is_even_whenever_it_is_looked_at(looks: list[bool]) -> None:
    """Reports come every 0.75 s, looks in between."""
    flow = Flow()
    for number, is_looked in enumerate(looks):
        flow.hear(beat("b0", 300 * number, 900 * number), 0.75 * number)
        found = flow.look(["b0"]) if is_looked and number else None
        assert found is None or found == Rate(400.0, 1200.0)


def test_without_news_it_goes_on_as_before() -> None:
    flow = Flow()
    flow.hear(beat("b0", 0), 0.0)
    flow.hear(beat("b0", 70), 1.0)
    assert [flow.look(["b0"]).received for _ in range(3)] == [70.0] * 3


def test_brokers_add_up_and_those_who_have_gone_do_not_count() -> None:
    flow = Flow()
    for name in ("b0", "b1"):
        flow.hear(beat(name, 0), 0.0)
        flow.hear(beat(name, 50, 10), 1.0)
    assert flow.look(["b0", "b1"]) == Rate(100.0, 20.0)
    assert flow.look(["b1"]) == Rate(50.0, 10.0)
    flow.hear(beat("b0", 80), 2.0)
    assert flow.look(["b0", "b1"]).received == 50.0, "it has only just come back"


def test_a_new_process_counts_from_its_own_beginning() -> None:
    flow = Flow()
    flow.hear(beat("b0", 500), 0.0)
    flow.hear(beat("b0", 510), 1.0)
    flow.hear(beat("b0", 3), 2.0)
    flow.hear(beat("b0", 23), 4.0)
    assert flow.look(["b0"]).received == pytest.approx(10.0)
