"""The cells of the experiment, and what is published of them."""

from collections import Counter

import pytest

from brokerwise.experiments.fill_published import INSTANCES, RECEIVED, SOLVED
from brokerwise.experiments.fill_settings import (
    DISTRIBUTIONS,
    HIGH,
    HOMOGENEOUS,
    LOW_MEANT,
    LOW_PRINTED,
    SCALED,
    SMALL,
    Cell,
    Distribution,
    Shape,
    every_cell,
)


def small(topics: int, distribution: Distribution, capacity: int, brokers: int) -> Cell:
    return Cell(Shape(topics, 100, 5), distribution, capacity, brokers)


def test_all_settings_of_the_paper_are_there_once() -> None:
    cells = every_cell()
    assert len({cell.name for cell in cells}) == len(cells)
    counts = Counter((c.shape, c.distribution, c.capacity) for c in cells)
    expected = {(s, d, b) for s in SMALL for d in DISTRIBUTIONS for b in (200, 500)}
    for shape, capacity in ((SCALED[0], 2000), (SCALED[0], 5000), (SCALED[1], 5000)):
        expected |= {(shape, d, capacity) for d in DISTRIBUTIONS}
    assert counts == dict.fromkeys(expected, 10)
    assert {c.brokers for c in cells if c.small} == set(range(5, 51, 5))
    assert {c.brokers for c in cells if not c.small} == set(range(50, 501, 50))


def test_what_the_paper_has_numbers_for_comes_first() -> None:
    cells = every_cell()
    quoted = sum(len(table) for table in RECEIVED.values())
    assert all(cell.received for cell in cells[:quoted])
    last = max(i for i, cell in enumerate(cells) if cell.tried)
    first = min(i for i, c in enumerate(cells) if not c.tried and not c.received)
    assert last < first


@pytest.mark.parametrize(
    ("cell", "solved"),
    [
        (small(100, HOMOGENEOUS, 200, 10), 7),
        (small(100, HOMOGENEOUS, 200, 15), None),
        (small(100, HOMOGENEOUS, 500, 35), 50),
        (small(100, LOW_PRINTED, 200, 5), 0),
        (small(100, LOW_MEANT, 500, 10), 39),
        (small(100, LOW_MEANT, 500, 15), None),
        (small(100, HIGH, 500, 10), 46),
        (small(100, HIGH, 500, 50), 0),
        (small(1000, HOMOGENEOUS, 200, 5), 50),
        (small(1000, HOMOGENEOUS, 200, 15), 37),
        (small(1000, LOW_PRINTED, 200, 10), None),
        (small(1000, LOW_PRINTED, 500, 15), 49),
        (small(1000, HIGH, 200, 10), 18),
        (small(1000, HIGH, 500, 10), 50),
        (Cell(SCALED[0], HOMOGENEOUS, 2000, 50), None),
    ],
    ids=lambda value: value.name if isinstance(value, Cell) else None,
)
def test_a_cell_knows_what_the_paper_solved(cell: Cell, solved: int | None) -> None:
    assert cell.solved == solved
    assert cell.tried == (solved is not None)


def test_published_numbers_can_be() -> None:
    for table in SOLVED.values():
        for known in table.values():
            assert all(0 <= number <= INSTANCES for number in known.given.values())
    for received in RECEIVED.values():
        rows = [received[brokers] for brokers in sorted(received)]
        assert all(row.gs <= row.mkpbs <= row.ilp <= 100 for row in rows)
        assert [row.ilp for row in rows] == sorted(row.ilp for row in rows)


def test_tables_iii_and_iv_are_of_homogeneous_rates_on_brokers_of_500() -> None:
    quoted = small(1000, HOMOGENEOUS, 500, 15).received
    assert quoted is not None
    assert (quoted.ilp, quoted.gs, quoted.mkpbs) == (85.56, 83.49, 85.50)
    assert small(1000, HOMOGENEOUS, 200, 15).received is None
    assert small(1000, HIGH, 500, 15).received is None
    assert small(100, HOMOGENEOUS, 500, 20).received is None


def test_bandwidth_is_short_until_pairs_and_their_topics_fit() -> None:
    # 500 pairs and nearly 100 topics, of rate 10, are just below 6,000.
    assert small(100, HOMOGENEOUS, 500, 11).short
    assert not small(100, HOMOGENEOUS, 500, 12).short
    # With 1,000 topics about 394 of them are wanted.
    assert small(1000, HOMOGENEOUS, 500, 17).short
    assert not small(1000, HOMOGENEOUS, 500, 18).short


def test_quick_runs_certify_fewer_of_the_large_instances() -> None:
    def certified(quick: bool) -> int:
        return sum(c.columns or 0 for c in every_cell(quick) if not c.small)

    assert 0 < certified(True) < certified(False)
