"""The report of a simulated run, and what is said of one anywhere."""

from typing import Any

import pytest
from tests.show.reading import Reader

from brokerwise.show.balance import (
    answer,
    bound,
    byte_rate,
    limits,
    loads_plot,
    moves,
    numbers,
    time_of,
)
from brokerwise.show.reports import render


def result_of(**changed: Any) -> dict[str, Any]:
    """Two brokers, of which one begins with all three users."""
    result: dict[str, Any] = {
        "kind": "simulate balance",
        "status": "done",
        "policy": "ldm",
        "placement": "nearest",
        "brokers": 2,
        "subscribers": 3,
        "minutes": 0.5,
        "max_load": 4.5e6,
        "cov": 0.25,
        "max_load_end": 4e6,
        "mean_load_end": 3e6,
        "cov_end": 0.1234,
        "moves": 1,
        "moved_users": 1,
        "decisions": 1,
        "seconds_between_moves": None,
        "bound": 3e6,
        "gap": 0.25,
        "spread": 1.5,
        "topics": 4,
        "pairs": 7,
        "balancer_status": "balanced: <b>",
        "without": {"cov": 1.0, "max_load": 6e6, "max_load_end": 6e6, "cov_end": 1.0},
        "world": "a small one",
        "options": {"alpha": 0.1, "beta": "0", "max_moves": None},
        "seed": 3,
        "version": "0",
        "command": "brokerwise simulate balance",
        "seconds": {"total": 1.25},
        "details": {
            "minutes": [0.0, 0.25, 0.5],
            "loads": [[6e6, 4e6, 4e6], [0.0, 2e6, 2e6]],
            "mean": [3e6, 3e6, 3e6],
            "cov": [1.0, 0.1234, 0.1234],
            "moves": [1, 0, 0],
            "sessions_begin": [3, 0],
            "sessions_end": [2, 1],
            "decisions": [{"at": 0.0, "moves": 1, "reason": "broker 0 is full"}],
        },
    }
    return {**result, **changed}


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (0, "0 B/s"),
        (999, "999 B/s"),
        (999.6, "1 kB/s"),
        (412_345_678, "412 MB/s"),
        (1.5e9, "1.5 GB/s"),
        (2e18, "2,000,000 TB/s"),
    ],
)
def test_loads_are_written_with_three_digits(load: float, text: str) -> None:
    assert byte_rate(load) == text


def test_the_answer_is_a_sentence_with_what_it_is_compared_to() -> None:
    assert answer(result_of()) == (
        "2 brokers, 3 subscribers, 0.5 minutes, placed nearest: with 1 move of ldm cov "
        "is 0.250 on average, without balancing 1.000."
    )
    alone = result_of(policy="none", moves=0, without=None, placement="random")
    assert answer(alone) == (
        "2 brokers, 3 subscribers, 0.5 minutes, placed at random: nobody moves, and "
        "cov is 0.250 on average."
    )


def test_numbers_and_limits_follow() -> None:
    result = result_of()
    assert list(numbers(result)) == [
        "max load 4.5 MB/s on average, without balancing 6 MB/s",
        "at the end 4 MB/s, with a mean of 3 MB/s: cov 0.123",
        "1 move in 1 decision, each of another user",
    ]
    assert list(limits(result)) == [
        "bound 3 MB/s (gap 25 %): it counts each topic as coming to 1 broker, here it "
        "comes to 1.5 of 2 on average",
        "balancer at the end: balanced: <b>",
    ]
    assert bound(result_of(spread=1.0)) == "bound 3 MB/s (gap 25 %)"


def test_users_who_moved_twice_are_told_of() -> None:
    result = result_of(moves=5, moved_users=3, seconds_between_moves=310.0, decisions=2)
    assert moves(result) == (
        "5 moves in 2 decisions, of 3 users; nobody moved twice within 310 s"
    )


def test_times_are_minutes_and_seconds() -> None:
    assert [time_of(s) for s in (0, 65, 3600)] == ["0:00", "1:05", "60:00"]


def test_the_page_has_lines_for_brokers_the_mean_and_marks_for_moves() -> None:
    page = Reader(render(result_of()))
    loads, cov, moved = page.data("plots")
    named = {series["name"]: series for series in loads["series"]}
    assert list(named) == ["broker 0", "broker 1", "mean", "moves"]
    assert named["broker 0"]["y"] == [6, 4, 4]
    assert named["mean"]["dashed"]
    assert (named["moves"]["x"], named["moves"]["y"]) == ([0], [0])
    assert loads["y"]["title"] == "load, MB/s"
    assert cov["series"][1]["y"] == [0.1, 0.1]
    assert moved["series"][0]["y"] == [1]
    assert "broker 0 is full" in page.text
    assert page.data("result") == result_of()


def test_a_run_without_moves_has_no_plot_of_them() -> None:
    details = {**result_of()["details"], "moves": [0, 0, 0], "decisions": []}
    page = Reader(render(result_of(moves=0, details=details, without=None)))
    assert len(page.data("plots")) == 2
    assert "ldm moves nobody" in page.text


def test_of_many_brokers_the_fullest_and_the_emptiest_are_drawn() -> None:
    loads = [[float(broker)] * 3 for broker in range(50)]
    details = {**result_of()["details"], "loads": loads}
    plot = loads_plot(result_of(details=details))
    names = [series.name for series in plot.series]
    drawn = [*range(10), *range(40, 50)]
    assert names == [*(f"broker {b}" for b in drawn), "mean", "moves"]
    assert "Of 50 brokers some are drawn." in plot.caption
