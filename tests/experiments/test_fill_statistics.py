"""What a cell's instances come to."""

from typing import Any

import pytest

from brokerwise.experiments.fill_settings import HIGH, HOMOGENEOUS, SMALL, Cell
from brokerwise.experiments.fill_statistics import cell_result, is_within

QUOTED = Cell(SMALL[0], HOMOGENEOUS, 500, 10)


def record(number: int, **fields: Any) -> dict[str, Any]:
    """An instance in which 5,000 is wanted."""
    common = {"number": number, "seed": 9, "wanted": 5000, "problems": []}
    heuristics = {"greedy": 4230, "mkp": 4250, "greedy_ms": 0.25, "mkp_ms": 0.5}
    ours = {"columns": 4280, "bound": 4280, "bound_paper": 5000, "stopped": False}
    return {**common, **heuristics, **ours, "patterns": 3, "seconds": 1.0, **fields}


def test_means_errors_and_counts() -> None:
    found = cell_result(
        QUOTED,
        [
            record(0),
            record(1, columns=4300, bound=4303, seconds=2.0),
            record(2, columns=4240, bound=4250, seconds=9.0, stopped=True),
        ],
    )
    ours = found["columns"]
    assert ours["percent"] == pytest.approx((85.6 + 86 + 84.8) / 3)
    # The deviation of 85.6, 86 and 84.8 is sqrt(1.12 / 3), by hand.
    assert ours["error"] == pytest.approx((1.12 / 3) ** 0.5 / 3**0.5, abs=1e-6)
    assert (ours["optimal"], ours["within"], ours["stopped"]) == (1, 2, 1)
    assert ours["worst_gap"] == pytest.approx(10 / 4240, abs=1e-6)
    assert (ours["seconds"], ours["worst_seconds"]) == (2.0, 9.0)
    assert ours["bound_paper"] == 100
    assert found["mkp"] == {"percent": 85.0, "error": 0.0, "ms": 0.5}
    assert found["instances"] == ours["instances"] == 3


@pytest.mark.parametrize(
    ("value", "bound", "within"),
    [
        (10_000, 10_010, True),
        (10_000, 10_011, False),
        (100, 102, True),
        (100, 103, False),
        (0, 0, True),
        (0, 3, False),
    ],
)
def test_within_is_a_thousandth_or_two_units(
    value: int, bound: int, within: bool
) -> None:
    assert is_within({"columns": value, "bound": bound}) == within


def test_tables_iii_and_iv_are_compared_as_agreed() -> None:
    # Theirs: ILP 85.58, GS 83.69, MKPBS 84.95.
    def checks(**fields: int) -> dict[str, bool]:
        found: dict[str, bool] = cell_result(QUOTED, [record(0, **fields)])["checks"]
        return found

    assert checks() == {"gs": False, "mkpbs": True, "order": True, "ilp": False}
    assert not checks(greedy=4169)["gs"] and checks(greedy=4170)["gs"]
    assert not checks(greedy=4200)["gs"] and checks(greedy=4199)["gs"]
    assert not checks(greedy=4250, mkp=4250)["order"]
    assert not checks(mkp=4232)["mkpbs"] and checks(mkp=4233)["mkpbs"]
    assert not checks(mkp=4263)["mkpbs"] and checks(mkp=4262)["mkpbs"]
    assert not checks(columns=4278)["ilp"] and not checks(columns=4280)["ilp"]
    assert checks(columns=4279)["ilp"]
    spread = [record(0, columns=4258), record(1, columns=4298)]
    assert cell_result(QUOTED, spread)["checks"]["ilp"]  # 85.56, error 0.4


def test_cells_without_a_certificate_or_published_numbers() -> None:
    fields = ("columns", "bound", "bound_paper", "stopped", "patterns", "seconds")
    bare = {k: v for k, v in record(0).items() if k not in fields}
    found = cell_result(Cell(SMALL[0], HIGH, 200, 20), [bare])
    assert found["columns"] is found["checks"] is found["published"]["solved"] is None
    quoted = cell_result(QUOTED, [bare, record(1)])
    assert quoted["columns"]["instances"] == 1


def test_problems_name_the_setting_and_the_instance() -> None:
    found = cell_result(QUOTED, [record(0), record(7, problems=["mkp: too much"])])
    assert found["problems"] == [
        "100 topics, Homogeneous, 10 x 500, instance 7: mkp: too much"
    ]
