"""What a fleet leaves in its directory."""

from pathlib import Path

import pytest
from tests.golden import files_of
from tests.golden.conftest import Tour
from tests.golden.golden import compare
from tests.processes import Process

pytestmark = [pytest.mark.xdist_group("golden"), pytest.mark.live]


@pytest.fixture(scope="module")
def ended(tour: Tour, fresh: Process, place: Path) -> Path:
    """The directory of a fleet that began with nothing, and has ended."""
    fresh.line_with('"ready"')
    fresh.terminate()
    fresh.wait(60)
    return place / "fresh"


def test_fleet_json_has_the_same_fields(tour: Tour) -> None:
    compare("fleet_file", tour.fleet_file)


def test_the_directory_has_the_same_files(tour: Tour) -> None:
    compare("state_files", tour.files)


def test_the_coordinator_stores_the_same_tables(ended: Path) -> None:
    found = files_of.schema(ended / "coordinator.sqlite")
    compare("coordinator_schema", found)


def test_the_data_cluster_stores_the_same_tables(ended: Path) -> None:
    found = files_of.schema(ended / "data/data.sqlite")
    compare("data_cluster_schema", found)


def test_data_that_was_stored_before_is_used_as_it_is(tour: Tour) -> None:
    found = files_of.schema(tour.state / "data/data.sqlite")
    compare("data_cluster_schema", found)
