"""One small fleet for all golden files of the live system, used in a fixed order.

What each part notes depends on what those before it did: whichever test is asked for,
they are called one after the other, and the numbers are the same.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.golden import http_calls
from tests.golden.conversation import Conversation
from tests.golden.fleet import Fleet, fleet_in, no_spark, store_data

UP = ("--brokers", "2", "--data-cluster", "--into", "gps/*=positions")


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two brokers and a data cluster, whose Spark never comes up."""
    folder = tmp_path_factory.mktemp("golden")
    store_data(folder / "fleet/data")
    with no_spark(folder), fleet_in(folder, *UP) as fleet:
        yield fleet


@pytest.fixture(scope="session")
def coordinator_calls(fleet: Fleet) -> dict[str, Any]:
    return http_calls.coordinator_calls(fleet)


@pytest.fixture(scope="session")
def data_calls(fleet: Fleet, coordinator_calls: dict[str, Any]) -> dict[str, Any]:
    return http_calls.data_calls(fleet)


@pytest.fixture(scope="session")
def conversation(fleet: Fleet, data_calls: dict[str, Any]) -> Conversation:
    return Conversation(fleet).hold()
