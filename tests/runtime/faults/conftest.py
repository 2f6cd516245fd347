"""A fleet for each module of tests that treat it badly: what they leave in it costs
processor time for as long as it is up."""

from collections.abc import Iterator

import pytest

from .besieged import Besieged, besieged


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Besieged]:
    with besieged(tmp_path_factory.mktemp("besieged")) as found:
        yield found
