"""How far long work is, on a terminal and in a log."""

import io

import pytest
from rich.console import Console

from brokerwise.cli.countdown import counting_down, left
from brokerwise.reproduce.runner import Moment


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "about 1 s left"),
        (75, "about 75 s left"),
        (150, "about 2 min left"),
        (3599, "about 1 h 0 min left"),
        (12_000, "about 3 h 20 min left"),
    ],
)
def test_time_left_is_said_as_one_would(seconds: float, text: str) -> None:
    assert left(seconds) == text


def test_a_log_gets_the_first_and_the_last_and_few_between() -> None:
    file = io.StringIO()
    with counting_down(Console(file=file, width=120)) as show:
        for done in range(1, 1001):
            show(Moment("5 x 500", done, 1000, 1000 - done))
    lines = file.getvalue().splitlines()
    assert lines[0] == "1/1,000  about 17 min left  5 x 500"
    assert lines[-1] == "1,000/1,000  done"
    assert len(lines) < 5


def test_a_terminal_gets_a_bar() -> None:
    file = io.StringIO()
    console = Console(file=file, width=120, force_terminal=True)
    with counting_down(console) as show:
        show(Moment("5 x 500", 1, 4, 90))
    assert "1/4  about 2 min left  5 x 500" in file.getvalue()
