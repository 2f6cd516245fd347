"""Fixtures of the tests of fleets."""

from pathlib import Path

import pytest
from tests.runtime.fleet.fakes import Fakes


@pytest.fixture
def fakes(tmp_path: Path) -> Fakes:
    folder = tmp_path / "fakes"
    folder.mkdir()
    return Fakes(folder)
