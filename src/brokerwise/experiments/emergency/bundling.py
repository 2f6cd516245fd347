"""The files of examples/emergency, of the definitions and the settings here."""

from pathlib import Path

import msgspec

from brokerwise.experiments.emergency.city import shelters
from brokerwise.experiments.emergency.definitions import CHANNELS, DATASETS
from brokerwise.experiments.emergency.generating import generate
from brokerwise.experiments.emergency.scenario import Settings, write_scenario
from brokerwise.runtime.protocol.data import Dataset

SCENARIO = "scenario.ndjson.gz"  # of 30 minutes, as Nguyen et al. have it


def texts() -> dict[str, str]:
    """Each file but the scenario: its name and its content."""
    settings = Settings()
    places = shelters(settings.seed, settings.shelters)
    lines = [msgspec.json.encode(place).decode() + "\n" for place in places]
    return {
        "shelters.ndjson": "".join(lines),
        **{f"datasets/{one.name}.json": _as_json(one) for one in DATASETS},
        **{f"channels/{one.name}.sql": one.sql for one in CHANNELS},
    }


def _as_json(dataset: Dataset) -> str:
    return msgspec.json.format(msgspec.json.encode(dataset)).decode() + "\n"


def write_files(directory: Path) -> None:
    for name, text in texts().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_scenario(generate(Settings()), directory / SCENARIO)
