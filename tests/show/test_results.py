"""What results of all kinds have in common."""

import math
import pkgutil
import subprocess
import sys

import pytest

import brokerwise.show
from brokerwise.show.results import finite, others_would, screen

MODULES = [
    f"brokerwise.show.{module.name}"
    for module in pkgutil.iter_modules(brokerwise.show.__path__)
]
WITHOUT = """
import sys
from importlib import import_module

sys.modules[{library!r}] = None  # so that an import of it fails
for module in {modules!r}:
    import_module(module)
"""


@pytest.mark.parametrize("library", ["plotly", "pyspark"])
def test_everything_can_be_imported_without_drawing_or_spark(library: str) -> None:
    assert "brokerwise.show.fill" in MODULES
    code = WITHOUT.format(library=library, modules=MODULES)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_json_has_no_number_for_is_null() -> None:
    found = [finite(x) for x in (1, 0.5, math.inf, -math.inf, math.nan, None, "a")]
    assert found == [1, 0.5, None, None, None, None, "a"]


def test_others_are_compared_in_one_sentence() -> None:
    assert others_would("cost", []) == ""
    assert others_would("cost", ["greedy 12"]) == "greedy would cost 12"
    said = others_would("cost", ["greedy 12 (1 % more)", "steiner 14"])
    assert said == "greedy would cost 12 (1 % more), steiner 14"


def test_a_screen_names_what_was_written() -> None:
    said = screen("Yes.", ["one", "two"], ("Plan", "out/plan"), ("Report", None))
    assert said == "Yes.\n  one\n  two\nPlan: out/plan"
