"""examples/emergency shows what is defined here, and nothing else."""

from pathlib import Path

from brokerwise.experiments.emergency.bundling import SCENARIO, texts
from brokerwise.experiments.emergency.generating import generate
from brokerwise.experiments.emergency.scenario import Settings, read_scenario

EXAMPLE = Path(__file__).parents[3] / "examples" / "emergency"


def test_the_files_of_the_example_are_those_of_the_definitions() -> None:
    shown = {
        str(path.relative_to(EXAMPLE)): path.read_text()
        for pattern in ("channels/*", "datasets/*", "*.ndjson")
        for path in EXAMPLE.glob(pattern)
    }
    assert shown == texts()


def test_the_bundled_scenario_is_the_one_that_is_generated() -> None:
    assert read_scenario(EXAMPLE / SCENARIO) == generate(Settings())
