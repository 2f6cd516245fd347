"""One fleet for all tests that treat it badly."""

from collections.abc import Iterator

import pytest

from .besieged import Besieged, besieged


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Besieged]:
    with besieged(tmp_path_factory.mktemp("besieged")) as found:
        yield found
