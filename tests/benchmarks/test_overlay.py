"""The benchmark of overlays, and the plain numpy that it compares with."""

import json
from typing import Any

import numpy as np
import pytest
from benchmarks.reference import overlay_literal
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from benchmarks import overlay
from brokerwise.pipeline.networks.generate import NetworkSettings, generate
from brokerwise.planners.overlay.problem import Demand


@settings(max_examples=examples(10))
@given(
    seed=st.integers(0, 10_000),
    costs=st.sampled_from(["plane", "independent"]),
    width=st.sampled_from([0.1, 1.0]),
    ratio=st.sampled_from([0.01, 1.0, 10.0]),
)
def test_plain_numpy_finds_the_same(
    seed: int, costs: str, width: float, ratio: float
) -> None:
    network = generate(
        NetworkSettings(24, 4, subchannels=10, costs=costs, width=width, ratio=ratio),
        seed,
    )
    tables = overlay_literal.Tables.of(network)
    for what, ours, literal in overlay.compared(Demand.of(network), tables):
        assert np.array_equal(ours(), literal()), what


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_part_prints_its_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlay, "LITERAL", (30, 3))
    monkeypatch.setattr(overlay, "SIZE", (100, 3))
    monkeypatch.setattr(overlay, "GROWTH", (100, 200, 10_000))
    for part in overlay.PARTS.values():
        part(1, 200)
    found = lines(capsys)
    literal = [line for line in found if line["benchmark"] == "overlay literal"]
    assert len(literal) == 2 * 6
    assert all(line["ratio_to_numpy"] > 0 for line in literal)
    size = [line for line in found if line["benchmark"] == "overlay size"]
    assert len(size) == 5 * len(overlay.REGIMES)
    assert all(0 <= line.get("gap_percent", 0) < 100 for line in size)
    growth = [line for line in found if line["benchmark"] == "overlay growth"]
    assert all(line["users"] == [100, 200] for line in growth)
    assert growth[-1]["algorithm"] == "local" and len(growth[-1]["searches"]) == 2


def test_a_difference_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "LITERAL", (30, 3))
    other = {"greedy": lambda tables, seed: np.zeros(30, np.int32)}
    monkeypatch.setattr(overlay_literal, "ALGORITHMS", other)
    with pytest.raises(SystemExit, match="greedy: numpy finds other than ours"):
        overlay.literal(1, 0)
