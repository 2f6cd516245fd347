"""The C++ program of the published heuristics, and the benchmark of filling."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fill import KERNELS, Instance, dump, exponent, reference
from benchmarks.reference.program import build
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from benchmarks import fill
from brokerwise.model.arrays import Int64s

needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ is not installed"
)
TOPICS = st.lists(st.tuples(st.integers(1, 19), st.integers(1, 40)), max_size=30)
CAPACITIES = st.lists(st.integers(1, 400), max_size=9)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("reference"), fill.SOURCE)


@needs_compiler
@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=examples(25))
@given(topics=TOPICS, capacities=CAPACITIES)
def test_the_program_fills_as_the_kernels_do(
    program: Path, name: str, topics: list[tuple[int, int]], capacities: list[int]
) -> None:
    rates, pairs = np.array(topics, np.int64).reshape(-1, 2).T.copy()
    check_same(program, name, rates, pairs, np.array(capacities, np.int64))


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rates", fill.RATES)
def test_the_program_fills_as_the_kernels_do_at_50_000_pairs(
    program: Path, name: str, rates: str
) -> None:
    instance = Instance(1000, rates, 10.0)
    check_same(program, name, *instance.wanted, instance.capacities)


@needs_compiler
def test_kernels_are_compared_with_the_program(
    program: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fill, "SIZES", (1.0, 2.0))
    fill.kernels(program, tmp_path / "arrays", repeats=2)
    fill.growth(program, tmp_path / "arrays", repeats=2)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    compared = [line for line in lines if line["benchmark"] == "fill kernels"]
    assert len(compared) == 2 * 2 * 2 * 2
    assert {line["pairs"] for line in compared} == {500, 2000}
    assert all(85 < line["delivered_percent"] < 100 for line in compared)
    assert all(line["ratio_to_cpp"] > 0 for line in compared)
    grown = [line for line in lines if line["benchmark"] == "fill growth"]
    assert [line["pairs"] for line in grown] == [[500, 2000]] * 4


def test_the_exponent_is_that_of_the_power_that_fits() -> None:
    assert exponent([10, 100, 1000], [3.0, 300.0, 30000.0]) == pytest.approx(2)


def check_same(
    program: Path, name: str, rates: Int64s, pairs: Int64s, capacities: Int64s
) -> None:
    dump(program.parent, rates, pairs, capacities)
    found = reference(program, program.parent, name, 1)
    starts = np.arange(len(rates) + 1)
    topic, _, served = KERNELS[name](rates, starts, rates, pairs, capacities)
    assert found["delivered"] == int(rates[topic] @ served)
    assert (found["pairs"], found["entries"]) == (int(served.sum()), len(topic))
