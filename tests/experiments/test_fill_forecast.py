"""How long the rest will take."""

import pytest

from brokerwise.experiments.fill_forecast import forecast as forecast_of
from brokerwise.experiments.fill_measure import Task
from brokerwise.experiments.fill_settings import HOMOGENEOUS, SCALED, SMALL, Cell

HARD = Cell(SMALL[0], HOMOGENEOUS, 500, 5)
EASY = Cell(SMALL[0], HOMOGENEOUS, 500, 50)
LARGE = Cell(SCALED[1], HOMOGENEOUS, 5000, 50, columns=0)


def tasks(cell: Cell, number: int) -> list[Task]:
    return [Task(cell, i, 0, 10.0) for i in range(number)]


def test_each_kind_goes_on_as_it_began() -> None:
    forecast = forecast_of([*tasks(HARD, 10), *tasks(EASY, 100)], workers=2)
    hard, easy = tasks(HARD, 1)[0], tasks(EASY, 1)[0]
    for seconds in (4.0, 8.0):
        forecast.finished(hard, seconds)
    forecast.finished(easy, 0.1)
    assert forecast.left == pytest.approx((8 * 6 + 99 * 0.1) / 2)


def test_before_anything_is_known_hard_ones_weigh_more() -> None:
    def left(cell: Cell) -> float:
        return forecast_of(tasks(cell, 50), workers=1).left

    assert 0 < left(EASY) < left(LARGE) < left(HARD) <= 500


def test_when_all_is_done_nothing_is_left() -> None:
    forecast = forecast_of(tasks(HARD, 3), workers=2)
    for task in tasks(HARD, 3):
        forecast.finished(task, 2.0)
    assert forecast.left == 0
