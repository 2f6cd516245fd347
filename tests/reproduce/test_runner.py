"""What was computed is kept, and how long the rest will take."""

from pathlib import Path

import pytest

from brokerwise.model.errors import InputError
from brokerwise.reproduce import runner
from brokerwise.reproduce.fill import Task, guess, kind_of
from brokerwise.reproduce.fill_settings import HOMOGENEOUS, SCALED, SMALL, Cell
from brokerwise.reproduce.runner import Cells, Forecast, code_digest, read_result


class Maker:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> dict[str, object]:
        self.calls += 1
        return {"number": self.calls, "pair": (1, 2)}


def test_a_result_is_made_once_and_is_the_same_when_kept(tmp_path: Path) -> None:
    make = Maker()
    made = Cells.open(tmp_path / "out", "x").get("a", {"seed": 1}, make)
    cells = Cells.open(tmp_path / "out", "x")
    assert cells.get("a", {"seed": 1}, make) == made == {"number": 1, "pair": [1, 2]}
    assert (make.calls, cells.taken, cells.made, cells.outdated) == (1, 1, 0, 0)


def test_other_inputs_make_another_result(tmp_path: Path) -> None:
    cells, make = Cells.open(tmp_path, "x"), Maker()
    cells.get("a", {"seed": 1}, make)
    assert cells.get("a", {"seed": 2}, make)["number"] == 2
    assert cells.get("a", {"seed": 2}, make)["number"] == 2


def test_fresh_cells_take_nothing(tmp_path: Path) -> None:
    make = Maker()
    Cells.open(tmp_path, "x").get("a", {}, make)
    assert Cells.open(tmp_path, "x", fresh=True).get("a", {}, make)["number"] == 2


@pytest.mark.parametrize("text", ["", "{", '{"inputs": {}}', "[1]", "null"])
def test_a_file_that_is_no_result_is_made_again(tmp_path: Path, text: str) -> None:
    cells, make = Cells.open(tmp_path, "x"), Maker()
    cells.get("a", {}, make)
    (tmp_path / "cells/a.json").write_text(text)
    assert cells.get("a", {}, make)["number"] == 2


def test_a_result_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def fail() -> dict[str, object]:
        raise KeyboardInterrupt

    cells = Cells.open(tmp_path, "x")
    cells.get("a", {"seed": 1}, Maker())
    before = (tmp_path / "cells/a.json").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        cells.get("a", {"seed": 2}, fail)
    with pytest.raises(TypeError):  # what JSON cannot hold
        cells.get("a", {"seed": 2}, lambda: {"what": object()})
    assert (tmp_path / "cells/a.json").read_bytes() == before
    assert [path.name for path in (tmp_path / "cells").iterdir()] == ["a.json"]


def test_results_of_other_code_are_taken_and_counted(tmp_path: Path) -> None:
    Cells(tmp_path, code="then").root.joinpath("cells").mkdir()
    Cells(tmp_path, code="then").get("a", {}, Maker())
    now = Cells(tmp_path)
    assert now.get("a", {}, Maker())["number"] == 1
    assert now.outdated == 1
    assert read_result(tmp_path / "cells/a.json")["code"] == "then" != code_digest()


def test_directories_of_something_else_are_refused(tmp_path: Path) -> None:
    Cells.open(tmp_path / "mine", "x")
    with pytest.raises(InputError, match="holds results of 'x', not of 'y'"):
        Cells.open(tmp_path / "mine", "y")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("precious")
    for place in (tmp_path / "other", tmp_path / "other/file"):
        with pytest.raises(InputError, match="is no directory of results"):
            Cells.open(place, "x")
    assert (tmp_path / "other/file").read_text() == "precious"


def test_code_that_only_shows_results_is_no_other_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reproduce"
    folder.mkdir()
    monkeypatch.setattr(runner, "__file__", str(folder / "runner.py"))
    (folder / "fill.py").write_text("1")
    before = code_digest()
    for name in ("fill_page.py", "colocate_tables.py", "account.py", "pages.py"):
        (folder / name).write_text("2")
        assert code_digest() == before
    (folder / "fill.py").write_text("2")
    assert code_digest() != before


HARD = Cell(SMALL[0], HOMOGENEOUS, 500, 5)
EASY = Cell(SMALL[0], HOMOGENEOUS, 500, 50)
LARGE = Cell(SCALED[1], HOMOGENEOUS, 5000, 50, columns=0)


def tasks(cell: Cell, number: int) -> list[Task]:
    return [Task(cell, i, 0, 10.0) for i in range(number)]


def forecast_of(tasks: list[Task], workers: int) -> Forecast[Task]:
    return Forecast.of(tasks, workers, kind=kind_of, guess=guess)


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
