"""The cells of the experiment of Zhao and Wu."""

from pathlib import Path

import numpy as np
import pytest

from brokerwise.experiments.overlay_published import ORDER, TABLE_I
from brokerwise.experiments.overlay_settings import REGIMES, SIZES, Sites, every_cell
from brokerwise.model.errors import InputError


def test_every_size_of_figure_9_is_there_in_each_regime() -> None:
    cells = every_cell()
    assert len({cell.name for cell in cells}) == len(cells) == 30
    for regime in REGIMES:
        mine = [cell for cell in cells if cell.regime == regime]
        assert [cell.users for cell in mine] == list(range(1000, 10_001, 1000))
        assert all(cell.brokers * 100 == cell.users for cell in mine)
        assert all(regime.ratio in cell.ratios for cell in mine)
        assert all(cell.samples == 100 for cell in mine)


def test_figure_10_is_of_the_largest_networks() -> None:
    sweeps = {c.regime.key: c for c in every_cell() if len(c.ratios) > 1}
    assert {cell.users for cell in sweeps.values()} == {SIZES[-1]}
    assert sweeps["plane"].ratios == sweeps["independent"].ratios == (1, 2, 5, 10)
    assert sweeps["core"].ratios == (0.01, 0.03, 0.1, 0.3, 1, 10)


def test_steiner_literal_wires_few_samples_and_fewer_large_ones() -> None:
    literal = {cell.users: cell.literal for cell in every_cell()}
    assert literal[1000] == literal[3000] == 10
    assert (literal[4000], literal[9000], literal[10_000]) == (0, 0, 1)
    large = next(cell for cell in every_cell() if cell.users == 10_000)
    assert [large.is_literal(0, ratio) for ratio in large.ratios[:2]] == [True, False]
    assert not large.is_literal(1, large.ratios[0])
    small = every_cell(quick=True)[1]
    assert all(small.is_literal(9, ratio) for ratio in small.ratios)


def test_local_wires_all_samples_up_to_3_000_users_and_10_above() -> None:
    local = {cell.users: cell.local for cell in every_cell()}
    assert local[1000] == local[3000] == 100
    assert local[4000] == local[10_000] == 10
    few = every_cell(samples=4)
    assert {(cell.samples, cell.local) for cell in few} == {(4, 4)}


def test_quick_is_a_part_with_ten_samples() -> None:
    cells = every_cell(quick=True)
    assert {cell.samples for cell in cells} == {10}
    assert {cell.local for cell in cells} == {10}
    ratios = {cell.regime.key: cell.ratios for cell in cells}
    assert ratios["plane"] == (1, 10) and ratios["core"] == (0.01, 0.1, 1, 10)


def test_sites_of_a_file_make_cells_with_their_latencies(tmp_path: Path) -> None:
    path = tmp_path / "regions.csv"
    path.write_text("from,a,b,c\na,1,10,20\nb,11,1,0\nc,21,,1\n")
    sites = Sites.read(path)
    cells = [c for c in every_cell(sites=[sites]) if c.regime.sites is not None]
    assert [c.regime.title for c in cells] == [
        *("regions, any interests", "regions, narrow interests")
    ]
    assert all((c.samples, c.local) == (10, 10) for c in cells)
    assert all(c.settings(1.0).latency is sites.latency for c in cells)
    assert np.isnan(sites.latency[1, 2])  # no message takes no time
    other = Sites("regions", sites.latency + 1)
    assert other.digest != sites.digest
    assert cells[0].inputs()["latency"] == sites.digest


def test_a_file_that_is_no_square_matrix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("1,2,3\n4,5,6\n")
    with pytest.raises(InputError, match="expected a square matrix"):
        Sites.read(path)


def test_published_order_and_times_are_of_the_same_algorithms() -> None:
    algorithms = {"steiner_literal" if name == "mixing" else name for name in ORDER}
    assert algorithms | {"random"} == set(TABLE_I)
    assert TABLE_I["steiner_literal"] > TABLE_I["clustering"] > TABLE_I["greedy"]
