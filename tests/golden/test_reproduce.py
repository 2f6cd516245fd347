"""What the papers' experiments give, as small as they can be run: values where they
are the same each time, else keys."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_reproduce_balance import CITY, PAPER
from tests.cli.test_reproduce_colocate import TINY
from tests.cli.test_reproduce_fill import CELLS
from tests.golden.fleet import command
from tests.golden.golden import compare
from tests.golden.planning import lines, normal

from brokerwise.reproduce import (
    balance_settings,
    colocate_settings,
    fill_settings,
    overlay,
    overlay_settings,
    runner,
)

# Some are times; all others are in the JSON.
_NUMBER = re.compile(r"-?\d[\d.,]*( \u00d7 10\u207b?[⁰¹²³⁴-⁹]+)?")

pytestmark = pytest.mark.usefixtures("planning_folder", "one_process")


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "cores", lambda: 1)


def reproduced(words: str) -> dict[str, Any]:
    said = command(*words.split(), "--out", "out", "--json")
    kept = json.loads(Path("out/results.json").read_text())
    names = sorted(path.name for path in Path("out").iterdir())
    again = command(*words.split(), "--out", "out")
    return {
        "exit code": said.code,
        "json": normal(said.json),
        "kept": sorted(kept),
        "files": names,
        "text": [_NUMBER.sub("#", " ".join(line.split())) for line in lines(again.out)],
    }


@pytest.mark.usefixtures("spark")
def test_provision() -> None:
    sizes = "--spotify 0.0004 --twitter 0.00002 --threshold 10 --seed 1"
    compare("planning/reproduce_provision", reproduced(f"reproduce provision {sizes}"))


def test_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_settings, "every_cell", lambda quick: CELLS[:2])
    words = "reproduce fill --instances 1 --seconds 20"
    compare("planning/reproduce_fill", reproduced(words))


def test_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay_settings, "QUICK_SIZES", (60,))
    timing = overlay.Timing(users=60, repeats=1, local_repeats=1)
    monkeypatch.setattr(overlay, "QUICK_TIMES", timing)
    words = "reproduce overlay --quick --samples 1"
    compare("planning/reproduce_overlay", reproduced(words))


def test_balance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance_settings, "CITY", CITY)
    monkeypatch.setattr(balance_settings, "PLACEMENTS", ("nearest",))
    monkeypatch.setattr(balance_settings, "ALPHAS", (0.05,))
    monkeypatch.setattr(balance_settings, "BETAS", (300e6,))
    monkeypatch.setattr(balance_settings, "QUICK_SEEDS", 1)
    monkeypatch.setattr(balance_settings, "QUICK", replace(PAPER, minutes=3))
    compare("planning/reproduce_balance", reproduced("reproduce balance --quick"))


def test_colocate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colocate_settings, "QUICK", TINY)
    monkeypatch.setattr(colocate_settings, "bundled_latency", lambda: Path("nowhere"))
    compare("planning/reproduce_colocate", reproduced("reproduce colocate --quick"))
