"""Simulated latencies, and what a message costs beside its processing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.latency.design import (
    Configuration,
    draw,
    draw_loaded,
    most_publishers,
    up_to_load,
)
from brokerwise.latency.queueing import (
    NONE,
    Overhead,
    Run,
    p90,
    simulate,
    simulate_targets,
    traffic_of,
)
from brokerwise.model.errors import InputError
from brokerwise.runtime.load.trials import Trial, send_schedule
from brokerwise.storage.latency_data import LoggedTopic


def test_what_is_not_named_is_as_by_default() -> None:
    assert Overhead.parse("") == Overhead()
    found = Overhead.parse("receive_ms=0.2, factor=1.1")
    assert found == Overhead(receive_ms=0.2, factor=1.1)
    assert Overhead(**found.as_json()) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("receive=1", "found 'receive=1', expected NAME=NUMBER"),
        ("factor", "found 'factor'"),
        ("factor=x", "found 'factor=x'"),
        ("path_ms=-1", "path_ms of the overhead: found -1"),
        ("path_ms=nan", "path_ms of the overhead: found nan"),
        ("factor=0", "a factor of 0"),
        ("lost=1", "a lost share of 1"),
    ],
)
def test_what_is_no_overhead_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Overhead.parse(text)


TIMES = (2.5, 5.0, 7.5, 10.0)
PAIR = Configuration((5.0, 10.0), (12, 6))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_p90_is_the_smallest_that_nine_tenths_do_not_exceed(
    values: list[float],
) -> None:
    enough = [v for v in values if 10 * sum(w <= v for w in values) >= 9 * len(values)]
    assert p90(np.array(values)) == min(enough)


def test_rows_say_what_was_asked_for() -> None:
    configurations = [PAIR, Configuration((2.5,), (40,))]
    rows = simulate(configurations, rate_each=4, messages=50, overhead=NONE, seed=1)
    assert rows.configuration.tolist() == [0, 0, 1]
    assert rows.processing_ms.tolist() == [5, 10, 2.5]
    assert rows.rate_per_second.tolist() == [48, 24, 160]
    assert rows.messages.tolist() == [12 * 40, 6 * 40, 40 * 40]
    assert (rows.p90_ms >= rows.processing_ms).all()
    assert rows.cpu_share[0] == rows.cpu_share[1]
    assert rows.cpu_share[0] == pytest.approx(PAIR.load(4), rel=0.3)


def test_the_same_seed_gives_the_same_rows_and_more_begin_with_them() -> None:
    drawn = draw_loaded(6, 3, processing=TIMES, rate_each=4, seed=2)

    def p90s(count: int, seed: int) -> list[float]:
        rows = simulate(drawn[:count], rate_each=4, overhead=NONE, seed=seed)
        return list(rows.p90_ms)

    assert p90s(6, 1)[:9] == p90s(3, 1)
    assert p90s(3, 1) != p90s(3, 2)


def test_messages_are_sent_when_a_measurement_sends_them() -> None:
    run = Run(4.0, messages=30, seed=8)
    traffic = traffic_of(PAIR, run, number=5)
    topics = (LoggedTopic(5.0, 12, 4.0, 30), LoggedTopic(10.0, 6, 4.0, 30))
    planned = send_schedule(Trial(5, topics, 4096, 100.0, seed=8))
    np.testing.assert_allclose(traffic.sent, planned.due / 1e6, atol=1e-5)
    assert traffic.topics.tolist() == planned.topic.tolist()
    assert traffic.counted.tolist() == (planned.seq > 6).tolist()


def test_every_part_of_the_overhead_makes_latencies_longer() -> None:
    plain = simulate([PAIR], rate_each=4, overhead=NONE, seed=1).p90_ms
    for change in (
        {"receive_ms": 0.5},
        {"deliver_ms": 0.5},
        {"worker_ms": 0.5},
        {"factor": 1.2},
        {"path_ms": 0.5},
        {"lost": 0.2},
    ):
        more = replace(NONE, **change)
        assert (
            simulate([PAIR], rate_each=4, overhead=more, seed=1).p90_ms > plain
        ).all()
    far = simulate([PAIR], rate_each=4, overhead=replace(NONE, path_ms=3), seed=1)
    np.testing.assert_allclose(far.p90_ms, plain + 3)


def test_the_order_of_topics_makes_no_difference_on_average() -> None:
    turned = Configuration(PAIR.processing_ms[::-1], PAIR.publishers[::-1])
    both = [
        simulate([c] * 60, rate_each=4, overhead=Overhead(), seed=3)
        for c in (PAIR, turned)
    ]
    for p in PAIR.processing_ms:
        one, other = (np.log(rows.p90_ms[rows.processing_ms == p]) for rows in both)
        error = np.hypot(one.std(), other.std()) / np.sqrt(60)
        assert abs(one.mean() - other.mean()) < 4 * error


def test_a_topic_added_costs_the_others_on_average() -> None:
    found = []
    for k in (1, 2, 3, 4):
        crowd = Configuration((5.0,) * k, (10,) * k)
        rows = simulate([crowd] * 30, rate_each=4, overhead=Overhead(), seed=3)
        found.append(np.log(rows.p90_ms).mean())
    assert (np.diff(found) > 0.1).all()


def test_late_messages_are_counted_and_a_backlog_counts_to_its_end() -> None:
    overloaded = Configuration((10.0,), (50,))  # twice what its worker can do
    run = Run(4.0, overhead=NONE)
    rows = simulate_targets([overloaded], run, target_ms=250).rows
    assert rows.p90_ms[0] > 15_000 and rows.cpu_share[0] > 0.98
    over = simulate_targets([overloaded], run, target_ms=float(rows.p90_ms[0])).over
    assert over[0] == pytest.approx(0.1, abs=1e-3)
    assert simulate_targets([overloaded], run, target_ms=1e9).over[0] == 0


def test_a_run_that_is_ended_counts_what_has_been_waited_so_far() -> None:
    overloaded = Configuration((10.0,), (50,))
    whole = simulate([overloaded], rate_each=4, overhead=NONE)
    ended = simulate([overloaded], rate_each=4, overhead=NONE, longest_seconds=25)
    assert ended.messages[0] <= whole.messages[0] == 50 * 64
    assert 5_000 < ended.p90_ms[0] < 0.9 * whole.p90_ms[0]
    with pytest.raises(InputError, match="no message of a topic that counts"):
        simulate([overloaded], rate_each=4, overhead=NONE, longest_seconds=0.5)


def test_a_whole_number_of_seconds_ends_a_run_as_a_fraction_does() -> None:
    overloaded = Configuration((10.0,), (50,))
    whole, fraction = (
        simulate([overloaded], rate_each=4, overhead=NONE, longest_seconds=seconds)
        for seconds in (25, 25.0)
    )
    assert whole.p90_ms.tolist() == fraction.p90_ms.tolist()


def test_subscribers_cost_the_loop() -> None:
    run = Run(4.0, overhead=Overhead(subscriber_ms=0.05))
    few, many = (
        simulate_targets([PAIR], run, subscribers=(n, 1)).rows.p90_ms for n in (1, 100)
    )
    assert many[0] > few[0] + 0.05 * 99 - 0.5
    assert simulate_targets([PAIR], run).rows.p90_ms.tolist() == few.tolist()


def test_the_papers_largest_rates_come_out_on_its_four_cores() -> None:
    """78, 37, 24 and 20 messages/s at 10, 20, 30 and 40 ms (Khare et al., 2018): one
    worker could do 100, 50, 33 and 25, so there a message took about a quarter longer
    than it was meant to."""
    times = (10.0, 20.0, 30.0, 40.0)
    most = up_to_load(1.1, processing=times, rate_each=1)
    alone = draw(400, 1, processing=times, most=most, seed=0)
    overhead = replace(NONE, factor=1.27)
    rows = simulate(alone, rate_each=1, cores=4, messages=120, overhead=overhead)
    found = most_publishers(rows, 1000, rate_each=1)
    published = {10.0: 78, 20.0: 37, 30.0: 24, 40.0: 20}
    assert found == pytest.approx(published, rel=0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"rate_each": 0.0},
        {"rate_each": np.inf},
        {"longest_seconds": 0.0},
        {"messages": 0},
        {"cores": 0},
        {"seed": -1},
    ],
)
def test_a_run_that_cannot_be_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(InputError, match="a run: found"):
        replace(Run(4.0), **change)  # type: ignore[arg-type]
