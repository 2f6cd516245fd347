"""One small fleet, without a plan, for all tests that only need one to be there."""

from collections.abc import Iterator

import pytest
from tests.runtime.live import LiveFleet, live_fleet

from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.process import logs


@pytest.fixture(autouse=True)
def every_line_is_logged() -> None:
    """Lines that are limited are not left out because of those of other tests."""
    logs.last_logged.clear()


@pytest.fixture(scope="session")
def two_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveFleet]:
    with live_fleet(seed_of_count(2), tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet
